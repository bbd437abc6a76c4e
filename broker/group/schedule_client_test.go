package group

import (
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// act does what a client does next.
func (c *client) act() {
	if c.dead {
		c.dead, c.id, c.generation = false, "", -1
	}
	g := c.w
	switch {
	case c.asking:
	case c.generation < 0:
		c.join()
	case !c.assigned:
		c.sync()
	case g.now.Elapsed-c.beat > kafka.Elapsed(c.session/4):
		c.heartbeat()
	case g.rnd.IntN(3) == 0:
		c.commit()
	case g.rnd.IntN(3) == 0:
		c.fetch()
	}
}

// crash forgets everything but the name; the coordinator is not told.
func (c *client) crash() {
	c.life++
	*c = client{w: c.w, name: c.name, instance: c.instance, session: c.session, partition: c.partition, acked: c.acked, tried: c.tried, life: c.life, dead: true}
}

// ask sends a request; the answer, nil if the coordinator went away, is lost if the client's life ended meanwhile.
func (c *client) ask(req kmsg.Request, then func(kmsg.Response)) {
	life := c.life
	c.w.ask(req, func(r kmsg.Response) {
		if life == c.life {
			then(r)
		}
	})
}

func (c *client) joinRequest() *kmsg.JoinGroupRequest {
	r := kmsg.NewPtrJoinGroupRequest()
	r.Version = int16(3 + c.w.rnd.IntN(7))
	r.Group, r.MemberID, r.ProtocolType = "g", c.id, "consumer"
	if r.Version >= 5 {
		r.InstanceID = c.instance
	}
	if c.instance != nil {
		r.Version, r.InstanceID = int16(5+c.w.rnd.IntN(5)), c.instance
	}
	r.SessionTimeoutMillis, r.RebalanceTimeoutMillis = int32(c.session.Milliseconds()), 30_000
	p := kmsg.NewJoinGroupRequestProtocol()
	p.Name, p.Metadata = "range", consumerMetadata([]string{"t"})
	r.Protocols = append(r.Protocols, p)
	return r
}

func (c *client) join() {
	c.asking, c.leads = true, nil
	c.w.tracef("%s joins as %q", c.name, c.id)
	c.ask(c.joinRequest(), func(r kmsg.Response) {
		c.asking, c.assigned = false, false
		resp, _ := r.(*kmsg.JoinGroupResponse)
		if resp == nil {
			return
		}
		c.w.tracef("%s joined: %s %q generation %d leader %q", c.name, kafka.ErrorCode(resp.ErrorCode), resp.MemberID, resp.Generation, resp.LeaderID)
		switch kafka.ErrorCode(resp.ErrorCode) {
		case kafka.None:
			c.id, c.generation, c.beat = resp.MemberID, resp.Generation, c.w.now.Elapsed
			if resp.LeaderID == c.id && !resp.SkipAssignment {
				for _, m := range resp.Members {
					c.leads = append(c.leads, m.MemberID)
				}
				if len(c.leads) == 0 {
					c.w.fail("%s leads and is told of no members", c.name)
				}
			}
		case kafka.MemberIDRequired:
			c.id = resp.MemberID
		case kafka.UnknownMemberID:
			c.id = ""
		case kafka.FencedInstanceID:
			c.id = "" // its own former life: the test has one client for each instance
		case kafka.CoordinatorNotAvailable, kafka.RebalanceInProgress:
		default:
			c.w.fail("%s: join is answered %s", c.name, kafka.ErrorCode(resp.ErrorCode))
		}
	})
}

func (c *client) sync() {
	r := kmsg.NewPtrSyncGroupRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 5, "g", c.id, c.instance, c.generation
	for _, id := range c.leads {
		a := kmsg.NewSyncGroupRequestGroupAssignment()
		a.MemberID, a.MemberAssignment = id, []byte("part of "+id)
		r.GroupAssignment = append(r.GroupAssignment, a)
	}
	c.asking = true
	generation := c.generation
	c.ask(r, func(r kmsg.Response) {
		c.asking = false
		resp, _ := r.(*kmsg.SyncGroupResponse)
		if resp == nil {
			return
		}
		c.w.tracef("%s synced: %s", c.name, kafka.ErrorCode(resp.ErrorCode))
		if resp.ErrorCode == 0 {
			// A static member that came back has the part of its former self.
			if got := string(resp.MemberAssignment); got != "part of "+c.id && c.instance == nil {
				c.w.fail("%s is given %q in generation %d", c.name, got, generation)
			}
			c.assigned, c.beat = true, c.w.now.Elapsed
			return
		}
		c.refused(kafka.ErrorCode(resp.ErrorCode))
	})
}

// refused does what clients do about an error of a member's request: join again, without the id if it is not known.
func (c *client) refused(code kafka.ErrorCode) {
	switch code {
	case kafka.UnknownMemberID, kafka.FencedInstanceID:
		c.id = ""
	case kafka.IllegalGeneration, kafka.RebalanceInProgress:
	case kafka.CoordinatorNotAvailable, kafka.NotCoordinator:
		if c.assigned {
			return
		}
	default:
		c.w.fail("%s: unexpected %s", c.name, code)
	}
	c.generation, c.assigned = -1, false
}

func (c *client) heartbeat() {
	r := kmsg.NewPtrHeartbeatRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 4, "g", c.id, c.instance, c.generation
	c.beat = c.w.now.Elapsed
	c.ask(r, func(r kmsg.Response) {
		if resp, _ := r.(*kmsg.HeartbeatResponse); resp != nil && resp.ErrorCode != 0 {
			c.w.tracef("%s heartbeat: %s", c.name, kafka.ErrorCode(resp.ErrorCode))
			c.refused(kafka.ErrorCode(resp.ErrorCode))
		}
	})
}

func (c *client) leave() {
	r := kmsg.NewPtrLeaveGroupRequest()
	r.Version, r.Group = 5, "g"
	m := kmsg.NewLeaveGroupRequestMember()
	m.MemberID, m.InstanceID = c.id, c.instance
	r.Members = append(r.Members, m)
	c.w.ask(r, func(kmsg.Response) {})
	c.crash()
}

// commit commits rising offsets for the client's own partition, so that they have one order.
func (c *client) commit() {
	r := kmsg.NewPtrOffsetCommitRequest()
	r.Version, r.Group, r.MemberID, r.InstanceID, r.Generation = 9, "g", c.id, c.instance, c.generation
	t := kmsg.NewOffsetCommitRequestTopic()
	t.Topic = "t"
	p := kmsg.NewOffsetCommitRequestTopicPartition()
	c.tried++
	p.Partition, p.Offset = c.partition, c.tried
	t.Partitions = append(t.Partitions, p)
	r.Topics = append(r.Topics, t)
	value := c.tried
	c.w.ask(r, func(r kmsg.Response) {
		resp, _ := r.(*kmsg.OffsetCommitResponse)
		if resp == nil {
			return
		}
		if code := kafka.ErrorCode(resp.Topics[0].Partitions[0].ErrorCode); code == kafka.None {
			c.acked = max(c.acked, value)
			if got := c.inLog(); got < value {
				c.w.fail("G6: commit of %d is acknowledged and the log has %d", value, got)
			}
		}
	})
}

// inLog is the last offset of the client's partition in the log.
func (c *client) inLog() int64 {
	last := int64(-1)
	for _, r := range c.w.log {
		if e, err := decodeRecord(r); err == nil && e.offset != nil && e.offsetKey.Partition == c.partition {
			last = int64(e.offset.offset)
		}
	}
	return last
}

func (c *client) fetch() {
	r := kmsg.NewPtrOffsetFetchRequest()
	r.Version = 9
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = "g"
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.Partitions = "t", []int32{c.partition}
	g.Topics = append(g.Topics, t)
	r.Groups = append(r.Groups, g)
	want := c.inLog()
	c.w.ask(r, func(r kmsg.Response) {
		got := r.(*kmsg.OffsetFetchResponse).Groups[0].Topics[0].Partitions[0].Offset
		if got != want || c.acked > 0 && got < c.acked {
			c.w.fail("G7: %s fetches %d, the log has %d, acknowledged %d", c.name, got, want, c.acked)
		}
	})
}
