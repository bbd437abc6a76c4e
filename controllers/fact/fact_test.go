package fact

import "testing"

func TestTheZeroFactIsUnknown(t *testing.T) {
	var f Fact[int]
	if _, ok := f.Get(); ok || f.Known() || f.Why() != "not looked at" {
		t.Errorf("%+v", f)
	}
}

func TestAFactIsItsValueOrItsReason(t *testing.T) {
	f := Known(0)
	if v, ok := f.Get(); v != 0 || !ok || !f.Known() || f.Why() != "" {
		t.Errorf("%+v", f)
	}
	f = Unknown[int]("connection refused")
	if _, ok := f.Get(); ok || f.Known() || f.Why() != "connection refused" {
		t.Errorf("%+v", f)
	}
}
