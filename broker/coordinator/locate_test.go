package coordinator

import "testing"

// The hashes are what Java's String.hashCode gives.
func TestPartitionForIsJavas(t *testing.T) {
	f := func(key string, hash int32, p50 int32) {
		t.Helper()
		if got := javaHash(key); got != hash {
			t.Errorf("hash of %q: %d, want %d", key, got, hash)
		}
		if got := PartitionFor(key, 50); got != p50 {
			t.Errorf("partition of %q: %d, want %d", key, got, p50)
		}
	}
	f("", 0, 0)
	f("a", 97, 47)
	f("hello", 99162322, 22)
	f("polygenelubricants", -1<<31, 0) // has no absolute value
	f("ü", 252, 2)
	f("😀", 1772899, 49) // two UTF-16 units: 31*0xd83d + 0xde00
}
