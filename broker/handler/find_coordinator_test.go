package handler

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// A transactional producer ends with an error: one that clients repeat would make it hang.
func TestFindCoordinatorRefusesTransactionsForGood(t *testing.T) {
	for version := int16(0); version <= 6; version++ {
		req := kmsg.NewPtrFindCoordinatorRequest()
		req.Version, req.CoordinatorType = version, transactionCoordinator
		req.CoordinatorKey, req.CoordinatorKeys = "id", []string{"id"}
		resp := findCoordinatorResponse(view{}, req)
		code := resp.ErrorCode
		if version >= 4 {
			code = resp.Coordinators[0].ErrorCode
		}
		if err := kerr.ErrorForCode(code); err == nil || kerr.IsRetriable(err) {
			t.Errorf("version %d: got %v, want an error that is not repeated", version, err)
		}
	}
}
