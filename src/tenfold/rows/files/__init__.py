"""Rows on disk and in tables: `.npy`, Parquet, Arrow IPC, CSV, data frames."""
