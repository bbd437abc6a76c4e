package kafka

import "testing"

func TestUUIDTextRoundTrip(t *testing.T) {
	want := UUID{0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0xfe}
	got, err := ParseUUID(want.String())
	if err != nil || got != want {
		t.Errorf("ParseUUID(%q) = %v, %v, want the same id", want.String(), got, err)
	}
	for _, bad := range []string{"", "short", want.String() + "A", "4L6g3nShT+eMCtK//X86sw"} {
		if _, err := ParseUUID(bad); err == nil {
			t.Errorf("ParseUUID(%q) gave no error", bad)
		}
	}
}

func TestErrorCodeNames(t *testing.T) {
	f := func(c ErrorCode, want string) {
		t.Helper()
		if got := c.String(); got != want {
			t.Errorf("ErrorCode(%d).String() = %q, want %q", c, got, want)
		}
	}
	f(None, "NONE")
	f(NotController, "NOT_CONTROLLER")
	f(InvalidRecord, "INVALID_RECORD")
	f(ErrorCode(31999), "UNKNOWN_SERVER_ERROR")
	if None.Err() != nil || NotController.Err() == nil {
		t.Errorf("Err of NONE is %v, of NOT_CONTROLLER %v, want nil and an error", None.Err(), NotController.Err())
	}
}
