"""Read what the trip left behind: requests rebuilt, decisions re-made, costs and timelines."""
