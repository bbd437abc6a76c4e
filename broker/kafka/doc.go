// Package kafka is the vocabulary that every other package speaks: identifiers, offsets, epochs,
// times and error codes, each a type of its own so that two of them cannot be confused.
//
// It holds no behaviour beyond parsing and printing, and imports nothing of Fairlead.
// Intervals of offsets are half-open, [first, next); "last" always means the last included one.
package kafka
