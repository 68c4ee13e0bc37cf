"""The store and its vectors in Qdrant."""
