package server

import (
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// TestABrokerThatStopsDoesNotWaitForLongPolls: who waits for records is answered with what there is. Without that it would wait on, since the
// broker, which leads no more, is a follower that consumers may read from.
func TestABrokerThatStopsDoesNotWaitForLongPolls(t *testing.T) {
	servers, ends := runBrokers(t, 3)
	createTopic(t, servers[0], "t", 3)
	leader := servers[0].images.Current().TopicByName("t").Partition(0).Leader
	s := servers[leader]
	eventually(t, "the partition is led", func() bool { return s.scrape().led == 1 })

	c, err := net.Dial("tcp", s.listeners[0].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	part := kmsg.NewFetchRequestTopicPartition()
	part.PartitionMaxBytes = 1 << 20
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic, topic.Partitions = "t", append(topic.Partitions, part)
	req := kmsg.NewPtrFetchRequest()
	req.SetVersion(11)
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes, req.SessionEpoch = 60_000, 1, 1<<20, -1
	req.Topics = append(req.Topics, topic)
	if _, err := c.Write(kmsg.NewRequestFormatter().AppendRequest(nil, req, 7)); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the fetch has come", func() bool { return s.clientServer.Stats().Requests > 0 })

	began := time.Now()
	if err := ends[leader](); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > drainLimit/2 {
		t.Errorf("the stop took %v", took)
	}
	var head [8]byte
	if _, err := io.ReadFull(c, head[:]); err != nil || binary.BigEndian.Uint32(head[4:]) != 7 {
		t.Errorf("the fetch got no answer: %v %v", head, err)
	}
	for id, end := range ends {
		if id != int(leader) {
			if err := end(); err != nil {
				t.Errorf("broker %d: %v", id, err)
			}
		}
	}
}
