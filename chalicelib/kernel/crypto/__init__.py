"""Keys, symmetric cryptography, Merkle trees and checkpoints."""
