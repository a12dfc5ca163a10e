"""Records of many launches, aggregated by case, by table and by curve."""
