"""Network access: the only package that opens sockets."""
