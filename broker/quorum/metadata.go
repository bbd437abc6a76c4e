package quorum

import (
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
	"github.com/fairlead-io/fairlead/broker/metadata"
)

// MetadataMachine is the [StateMachine] of the cluster's metadata: it hosts the controller, and gives every image to OnImage. Its
// version is the raft index applied, on every node.
type MetadataMachine struct {
	controller *metactl.Controller
	options    MetadataOptions
}

// MetadataOptions make a [MetadataMachine]; all are required.
type MetadataOptions struct {
	Controller *metactl.Controller
	Wall       func() kafka.Timestamp // wall time, for what is kept
	Rand       metactl.Rand
	// OnImage is called with each image, in order, from inside the Node's methods, [Open] included. delta leads from the image
	// given before; after a snapshot it may be large.
	OnImage func(image *metadata.Image, delta metadata.Delta)
}

// NewMetadataMachine hosts a controller.
func NewMetadataMachine(o MetadataOptions) *MetadataMachine {
	return &MetadataMachine{controller: o.Controller, options: o}
}

// Apply implements [StateMachine].
func (m *MetadataMachine) Apply(index uint64, data []byte) error {
	var records []metadata.Record
	if len(data) > 0 {
		var err error
		if records, err = metadata.DecodeRecords(data); err != nil {
			return err
		}
	}
	m.options.OnImage(m.controller.Apply(index, records))
	return nil
}

// Snapshot implements [StateMachine].
func (m *MetadataMachine) Snapshot() []byte {
	return metadata.EncodeRecords(nil, m.controller.Image().Records())
}

// Restore implements [StateMachine].
func (m *MetadataMachine) Restore(index uint64, snapshot []byte) error {
	records, err := metadata.DecodeRecords(snapshot)
	if err != nil {
		return err
	}
	before, after := m.controller.Image(), metadata.FromRecords(index, records)
	m.controller.Restore(after)
	m.options.OnImage(after, metadata.Diff(before, after))
	return nil
}

// BecomeLeader implements [StateMachine].
func (m *MetadataMachine) BecomeLeader(now kafka.Elapsed) { m.controller.BecomeLeader(now) }

// LoseLeadership implements [StateMachine].
func (m *MetadataMachine) LoseLeadership() { m.controller.LoseLeadership() }

// Decide takes a request of Kafka's and gives its response, or takes a [Suspect].
func (m *MetadataMachine) Decide(cmd any, now kafka.Elapsed) ([]byte, any) {
	switch c := cmd.(type) {
	case kmsg.Request:
		records, resp := m.controller.Decide(c, now, m.options.Wall(), m.options.Rand)
		return encode(records), resp
	case Suspect:
		return encode(m.controller.Suspect(c.Node, c.Epoch, now)), nil
	}
	panic(fmt.Sprintf("quorum: command of type %T", cmd))
}

// Tick implements [StateMachine].
func (m *MetadataMachine) Tick(now kafka.Elapsed) []byte { return encode(m.controller.Tick(now)) }

func encode(records []metadata.Record) []byte {
	if len(records) == 0 {
		return nil
	}
	return metadata.EncodeRecords(nil, records)
}
