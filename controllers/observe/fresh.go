package observe

import (
	"crypto/rand"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/controllers/plan/cluster"
)

// fresh are identities that nothing has yet.
func fresh() cluster.Identities {
	ids := cluster.Identities{ClusterID: newID()}
	for i := range ids.DirectoryIDs {
		ids.DirectoryIDs[i] = newID()
	}
	return ids
}

// newID is a random identifier, in the form of a version 4 UUID, that no command line takes for a flag.
func newID() string {
	for {
		var u kafka.UUID
		_, _ = rand.Read(u[:]) // never fails
		u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
		if text := u.String(); text[0] != '-' {
			return text
		}
	}
}
