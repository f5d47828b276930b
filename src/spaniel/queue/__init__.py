"""Pages that could not be fetched, for a person to look at: listed, tried again, taken out."""

from spaniel.queue.queue import Entry, Failure, Queue, QueueSettings

__all__ = ["Entry", "Failure", "Queue", "QueueSettings"]
