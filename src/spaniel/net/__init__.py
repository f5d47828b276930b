"""The door: the only room that opens sockets."""
