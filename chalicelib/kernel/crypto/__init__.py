"""Keys, signatures, encryption, Merkle trees and checkpoints."""
