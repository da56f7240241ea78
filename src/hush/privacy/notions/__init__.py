"""The notions of privacy, each a curve: pure, approximate, zCDP, Rényi, Gaussian."""
