package fact

// Fact is a value, or why it is not known.
type Fact[T any] struct {
	value T
	known bool
	why   string
}

// Known is a fact that was seen.
func Known[T any](value T) Fact[T] { return Fact[T]{value: value, known: true} }

// Unknown is a fact that could not be seen, with why in a clause: "connection refused".
func Unknown[T any](why string) Fact[T] { return Fact[T]{why: why} }

// Get is the value, if it is known.
func (f Fact[T]) Get() (T, bool) { return f.value, f.known }

// Known tells whether there is a value.
func (f Fact[T]) Known() bool { return f.known }

// Why tells why the value is not known; it is empty when it is.
func (f Fact[T]) Why() string {
	if !f.known && f.why == "" {
		return "not looked at"
	}
	return f.why
}
