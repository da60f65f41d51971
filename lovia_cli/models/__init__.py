"""The model seam and the models behind it; each provider loads its SDK when first asked."""
