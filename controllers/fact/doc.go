// Package fact has [Fact]: something that was looked at, with what was seen or with why nothing was.
//
// It keeps "unknown" from being read as "absent". The zero Fact is unknown, so what an observer forgets to look at is unknown too;
// its value cannot be had without asking whether it is known.
package fact
