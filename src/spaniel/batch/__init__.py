"""Many fetches: a plan on disk, a frontier of hosts, workers that own hosts, and output that holds each URL once."""
