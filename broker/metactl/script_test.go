package metactl

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/broker/config"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/leaderepoch"
	"github.com/fairlead-io/fairlead/broker/metadata"
	"github.com/fairlead-io/fairlead/broker/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// reset starts a new world: new [without=RULE] [option=value...].
func (s *script) reset() string {
	o := Options{Static: config.Values{}}
	for k, v := range s.opts {
		switch k {
		case "without":
			rules := AllRules()
			reflect.ValueOf(&rules).Elem().FieldByName(v).SetBool(false)
			o.Rules = &rules
		case "rebalance-interval":
			o.RebalanceInterval, _ = time.ParseDuration(v)
		case "rebalance":
			o.RebalanceDisabled = v == "off"
		case "deletion":
			o.DeletionDisabled = v == "off"
		case "voter":
			o.HasVote = func(n kafka.NodeID) bool { return fmt.Sprint(n) == v }
		default:
			o.Static[k] = v
		}
	}
	s.world = newWorld(s.t, o)
	return "ok\n"
}

func (s *script) startAll() string {
	s.start(s.node())
	return "ok\n"
}

// register N [dir=] [run=] [prev=] [rack=] [cluster=]
func (s *script) register() string {
	n := s.node()
	req := registration(n, s.text("dir", fmt.Sprintf("dir-%d", n)), s.text("run", fmt.Sprintf("run-%d-1", n)), s.int("prev", -1))
	req.ClusterID = s.text("cluster", testCluster)
	if rack, ok := s.opts["rack"]; ok {
		req.Rack = &rack
	}
	resp := decide[*kmsg.BrokerRegistrationResponse](s.world, req)
	return fmt.Sprintf("%v epoch %d\n", kafka.ErrorCode(resp.ErrorCode), resp.BrokerEpoch)
}

// heartbeat N [offset=] [epoch=] [fence] [stop] [offline] [full]
func (s *script) beat() string {
	req := kmsg.NewPtrBrokerHeartbeatRequest()
	req.BrokerID, req.WantFence, req.WantShutdown = s.node(), s.has("fence"), s.has("stop")
	req.BrokerEpoch = s.int("epoch", s.epochOf(req.BrokerID))
	req.CurrentMetadataOffset = s.int("offset", int64(s.index))
	if b := s.image().Broker(kafka.NodeID(req.BrokerID)); s.has("offline") {
		req.OfflineLogDirs = append(req.OfflineLogDirs, b.Directory)
	}
	if s.has("full") {
		wire.SetDiskFull(req)
	}
	resp := decide[*kmsg.BrokerHeartbeatResponse](s.world, req)
	out := kafka.ErrorCode(resp.ErrorCode).String()
	for _, f := range []struct {
		name string
		set  bool
	}{{"caught-up", resp.IsCaughtUp}, {"fenced", resp.IsFenced}, {"should-shut-down", resp.ShouldShutdown}} {
		if f.set {
			out += " " + f.name
		}
	}
	return out + "\n"
}

// newLeader loses what the leader knows beside the image.
func (s *script) newLeader() string {
	s.c.LoseLeadership()
	s.c.BecomeLeader(s.now)
	return ""
}

func (s *script) epochOf(n int32) int64 {
	if b := s.image().Broker(kafka.NodeID(n)); b != nil {
		return int64(b.Epoch)
	}
	return -1
}

func (s *script) unregister() string {
	req := kmsg.NewPtrUnregisterBrokerRequest()
	req.BrokerID = s.node()
	resp := decide[*kmsg.UnregisterBrokerResponse](s.world, req)
	return codeAndMessage(resp.ErrorCode, resp.ErrorMessage)
}

func (s *script) producerIDs() string {
	req := kmsg.NewPtrAllocateProducerIDsRequest()
	req.BrokerID, req.BrokerEpoch = s.node(), s.int("epoch", s.epochOf(s.node()))
	resp := decide[*kmsg.AllocateProducerIDsResponse](s.world, req)
	return fmt.Sprintf("%v first %d length %d\n", kafka.ErrorCode(resp.ErrorCode), resp.ProducerIDStart, resp.ProducerIDLen)
}

// create NAME [partitions=] [replicas=] [place=0,1/1,0] [setting=value...]
func (s *script) createTopic() string {
	rt := newTopic(s.args[0], int32(s.int("partitions", -1)), int16(s.int("replicas", -1)))
	if place, ok := s.opts["place"]; ok {
		rt = placedTopic(s.args[0], lists(place))
		rt.NumPartitions, rt.ReplicationFactor = int32(s.int("partitions", -1)), int16(s.int("replicas", -1))
	}
	for _, k := range config.Values(s.opts).Names() {
		if k != "partitions" && k != "replicas" && k != "place" {
			rt.Configs = append(rt.Configs, newTopic("", 0, 0, k+"="+s.opts[k]).Configs...)
		}
	}
	resp := s.create(rt).Topics[0]
	return codeAndMessage(resp.ErrorCode, resp.ErrorMessage)
}

func (s *script) delete() string {
	req := kmsg.NewPtrDeleteTopicsRequest()
	req.Version = 6
	for _, name := range s.args {
		rt := kmsg.NewDeleteTopicsRequestTopic()
		rt.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, rt)
	}
	out := ""
	for _, rt := range decide[*kmsg.DeleteTopicsResponse](s.world, req).Topics {
		out += codeAndMessage(rt.ErrorCode, rt.ErrorMessage)
	}
	return out
}

// grow NAME count= [place=]
func (s *script) grow() string {
	req := kmsg.NewPtrCreatePartitionsRequest()
	rt := kmsg.NewCreatePartitionsRequestTopic()
	rt.Topic, rt.Count = s.args[0], int32(s.int("count", 0))
	if place, ok := s.opts["place"]; ok {
		for _, l := range lists(place) {
			a := kmsg.NewCreatePartitionsRequestTopicAssignment()
			a.Replicas = l
			rt.Assignment = append(rt.Assignment, a)
		}
	}
	req.Topics = append(req.Topics, rt)
	resp := decide[*kmsg.CreatePartitionsResponse](s.world, req).Topics[0]
	return codeAndMessage(resp.ErrorCode, resp.ErrorMessage)
}

// isr TOPIC-N want=0,1[@epoch] [by=] [leader-epoch=] [epoch=] [broker-epoch=] [recovering] [id=unknown]
func (s *script) alterISR() string {
	topic, n := s.partition(s.args[0])
	p := topic.Partition(n)
	if p == nil {
		p = &metadata.Partition{}
	}
	req := kmsg.NewPtrAlterPartitionRequest()
	req.Version = 3
	req.BrokerID = int32(s.int("by", int64(p.Leader)))
	req.BrokerEpoch = s.int("broker-epoch", s.epochOf(req.BrokerID))
	rt := kmsg.NewAlterPartitionRequestTopic()
	rt.TopicID = topic.ID
	if s.opts["id"] == "unknown" {
		rt.TopicID[3]++
	}
	rp := kmsg.NewAlterPartitionRequestTopicPartition()
	rp.Partition, rp.LeaderEpoch, rp.PartitionEpoch = n, int32(s.int("leader-epoch", int64(p.LeaderEpoch))), int32(s.int("epoch", int64(p.Epoch)))
	if s.has("recovering") {
		rp.LeaderRecoveryState = 1
	}
	for m := range strings.SplitSeq(s.opts["want"], ",") {
		if m == "" { // want= is an ISR of nobody
			break
		}
		id, epoch, given := strings.Cut(m, "@")
		e := kmsg.NewAlterPartitionRequestTopicPartitionNewEpochISR()
		e.BrokerID = lists(id)[0][0]
		e.BrokerEpoch = s.epochOf(e.BrokerID)
		if given {
			e.BrokerEpoch, _ = strconv.ParseInt(epoch, 10, 64)
		}
		rp.NewEpochISR = append(rp.NewEpochISR, e)
	}
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp := decide[*kmsg.AlterPartitionResponse](s.world, req)
	if resp.ErrorCode != 0 {
		return fmt.Sprintf("request: %v\n", kafka.ErrorCode(resp.ErrorCode))
	}
	out := resp.Topics[0].Partitions[0]
	if out.ErrorCode != 0 {
		return fmt.Sprintf("%v\n", kafka.ErrorCode(out.ErrorCode))
	}
	return fmt.Sprintf("NONE leader=%d epoch=%d/%d isr=%v recovery=%d\n", out.LeaderID, out.LeaderEpoch, out.PartitionEpoch, out.ISR, out.LeaderRecoveryState)
}

// resign N TOPIC-N: a replica wants the ISR of the image without itself.
func (s *script) resign() string {
	topic, n := s.partition(s.args[1])
	var rest []string
	for _, m := range without(topic.Partition(n).ISR, kafka.NodeID(s.node())) {
		rest = append(rest, fmt.Sprintf("%d@-1", m))
	}
	s.opts["by"], s.opts["want"] = s.args[0], strings.Join(rest, ",")
	s.args = s.args[1:]
	return s.alterISR()
}

// elect preferred|unclean|KIND TOPIC-N
func (s *script) elect() string {
	req := kmsg.NewPtrElectLeadersRequest()
	req.Version = 2
	if s.args[0] == "unclean" {
		req.ElectionType = electUnclean
	} else if kind, err := strconv.ParseInt(s.args[0], 10, 8); err == nil {
		req.ElectionType = int8(kind)
	}
	req.Topics = nil
	for _, tp := range s.args[1:] {
		at := strings.LastIndexByte(tp, '-')
		rt := kmsg.NewElectLeadersRequestTopic()
		rt.Topic, rt.Partitions = tp[:at], lists(tp[at+1:])[0]
		req.Topics = append(req.Topics, rt)
	}
	out := ""
	resp := decide[*kmsg.ElectLeadersResponse](s.world, req)
	if resp.ErrorCode != 0 {
		out = fmt.Sprintf("request: %v\n", kafka.ErrorCode(resp.ErrorCode))
	}
	for _, rt := range resp.Topics {
		for _, rp := range rt.Partitions {
			out += fmt.Sprintf("%s-%d %s", rt.Topic, rp.Partition, codeAndMessage(rp.ErrorCode, rp.ErrorMessage))
		}
	}
	if out == "" {
		return fmt.Sprintf("request: %v, no partition\n", kafka.ErrorCode(resp.ErrorCode))
	}
	return out
}

// ends N TOPIC-N last=EPOCH end=OFFSET [leader-epoch=] [epoch=]
// ends NODE PARTITION [end=] [last=EPOCH | epochs=EPOCH@START,...]
func (s *script) ends() string {
	topic, n := s.partition(s.args[1])
	req := &LogEndsRequest{BrokerID: kafka.NodeID(s.node()), BrokerEpoch: kafka.BrokerEpoch(s.int("epoch", s.epochOf(s.node())))}
	req.Ends = []LogEnd{{
		TopicIDPartition: kafka.TopicIDPartition{TopicID: topic.ID, Partition: n},
		LeaderEpoch:      kafka.LeaderEpoch(s.int("leader-epoch", int64(topic.Partition(n).LeaderEpoch))),
		EndOffset:        kafka.Offset(s.int("end", 0)),
	}}
	for history := range strings.SplitSeq(s.text("epochs", s.text("last", "")), ",") {
		var e leaderepoch.Entry
		if n, _ := fmt.Sscanf(history, "%d@%d", &e.Epoch, &e.Start); n > 0 {
			req.Ends[0].Epochs = append(req.Ends[0].Epochs, e)
		}
	}
	return fmt.Sprintf("%v\n", kafka.ErrorCode(decide[*LogEndsResponse](s.world, req).ErrorCode))
}

// config topic|broker NAME|all [setting=value...] [-setting...] [setting+value...]
func (s *script) alterConfig() string {
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	r := kmsg.NewIncrementalAlterConfigsRequestResource()
	r.ResourceType, r.ResourceName = kmsg.ConfigResourceTypeTopic, s.args[1]
	if s.args[0] == "broker" {
		r.ResourceType = kmsg.ConfigResourceTypeBroker
	}
	if r.ResourceName == "all" {
		r.ResourceName = ""
	}
	for _, k := range config.Values(s.opts).Names() {
		r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: k, Value: kmsg.StringPtr(s.opts[k])})
	}
	for _, a := range s.args[2:] {
		if name, ok := strings.CutPrefix(a, "-"); ok {
			r.Configs = append(r.Configs, kmsg.IncrementalAlterConfigsRequestResourceConfig{Name: name, Op: kmsg.IncrementalAlterConfigOpDelete})
		}
	}
	req.Resources = append(req.Resources, r)
	resp := decide[*kmsg.IncrementalAlterConfigsResponse](s.world, req).Resources[0]
	return codeAndMessage(resp.ErrorCode, resp.ErrorMessage)
}

func (s *script) suspect() string {
	s.commit(s.c.Suspect(kafka.NodeID(s.node()), kafka.BrokerEpoch(s.int("epoch", -1)), s.now))
	return ""
}

// tick DURATION [alive=0,1]: the time passes in steps of half a second, and the brokers that live send heartbeats.
func (s *script) pass() string {
	d, err := time.ParseDuration(s.args[0])
	if err != nil {
		s.t.Fatal(err)
	}
	const step = 500 * time.Millisecond
	out := ""
	for ; d > 0; d -= step {
		s.now = s.now.Add(min(d, step))
		if alive, ok := s.opts["alive"]; ok {
			for _, n := range lists(alive)[0] {
				s.heartbeat(n, false, false)
				out += describeDelta(s.delta)
			}
		}
		s.commit(s.c.Tick(s.now))
		out += describeDelta(s.delta)
	}
	s.delta = metadata.Delta{}
	return out
}

func (s *script) show() string {
	var out strings.Builder
	for b := range s.image().Brokers() {
		out.WriteString(describeBroker(b) + "\n")
	}
	for t := range s.image().Topics() {
		for n, p := range t.Partitions() {
			fmt.Fprintf(&out, "%s-%d %s\n", t.Name, n, describePartition(p))
		}
	}
	return out.String()
}

// stop-check 0,1 [voters=] [reachable=]
func (s *script) stopCheck() string {
	all := lists(s.args[0])[0]
	v := SafeToStop(s.image(), nodes(all), nodes(lists(s.text("voters", ""))[0]), nodes(lists(s.text("reachable", ""))[0]))
	out := fmt.Sprintf("safe=%v quorumLost=%v\n", v.Safe, v.QuorumLost)
	for _, c := range v.Blocked {
		out += fmt.Sprintf("blocked by %v: loses %s until %v catch up\n", c.TopicPartition, c.Loses, c.CatchingUp)
	}
	for _, c := range v.Unavoidable {
		out += fmt.Sprintf("unavoidable: %v loses %s\n", c.TopicPartition, c.Loses)
	}
	return out
}
