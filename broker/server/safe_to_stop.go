package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/fairlead-io/fairlead/broker/adminapi"
	"github.com/fairlead-io/fairlead/broker/handler"
	"github.com/fairlead-io/fairlead/broker/kafka"
	"github.com/fairlead-io/fairlead/broker/metactl"
)

const (
	// verdictLimit bounds the question to the quorum's leader.
	verdictLimit = 2 * time.Second
	// reachableWithin is how recently the leader must have heard of a voter for it to count: it hears of each twenty times a second.
	reachableWithin = 2 * time.Second
	// maxAskedBrokers bounds one question.
	maxAskedBrokers = 1000
)

// answerSafeToStop is GET /safe-to-stop?ids=1,2.
func (s *Server) answerSafeToStop(w http.ResponseWriter, r *http.Request) {
	ids, err := parseNodes(r.URL.Query().Get("ids"))
	if err != nil {
		http.Error(w, "ids: "+err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), verdictLimit)
	defer cancel()
	writeJSON(w, http.StatusOK, s.safeToStop(ctx, ids))
}

// parseNodes reads a list such as 1,2 in ascending order, without repetitions.
func parseNodes(text string) ([]kafka.NodeID, error) {
	words := strings.Split(text, ",")
	if len(words) > maxAskedBrokers {
		return nil, fmt.Errorf("%d brokers, at most %d", len(words), maxAskedBrokers)
	}
	var ids []kafka.NodeID
	for _, word := range words {
		n, err := strconv.ParseInt(word, 10, 32)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("%q is no broker id: want a list such as 1,2", word)
		}
		ids = append(ids, kafka.NodeID(n))
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// safeToStop asks the quorum's leader which voters it reaches, and judges the image, which is then as new as the leader's was when it
// answered: the verdict is the leader's, whichever broker gives it.
func (s *Server) safeToStop(ctx context.Context, ids []kafka.NodeID) adminapi.Verdict {
	voters, reachable, err := s.voters(ctx)
	image := s.images.Current()
	verdict := verdictOf(metactl.SafeToStop(image, ids, voters, reachable), len(voters))
	if err != nil {
		verdict.Safe = false
		verdict.Total++
		verdict.Blocks = append(verdict.Blocks, adminapi.Block{
			Effect: adminapi.LosesQuorum, Partition: -1, Reason: err.Error(), Clears: "the metadata quorum having a leader",
		})
	}
	for _, id := range ids {
		verdict.Brokers = append(verdict.Brokers, int32(id))
	}
	verdict.ImageVersion = image.Version()
	return verdict
}

// voters are those of the metadata quorum, and those of them that its leader reaches.
func (s *Server) voters(ctx context.Context) (voters, reachable []kafka.NodeID, err error) {
	resp, err := s.controller.Do(ctx, handler.NewDescribeQuorumRequest())
	if err != nil {
		return nil, nil, err
	}
	r, ok := resp.(*kmsg.DescribeQuorumResponse)
	if !ok || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, nil, errors.New("ask the quorum's leader: it does not describe the quorum")
	}
	members := r.Topics[0].Partitions[0].CurrentVoters
	var newest int64 // the leader's own time, by its clock
	for _, m := range members {
		newest = max(newest, m.LastFetchTimestamp)
	}
	for _, m := range members {
		voters = append(voters, kafka.NodeID(m.ReplicaID))
		if newest-m.LastFetchTimestamp <= reachableWithin.Milliseconds() {
			reachable = append(reachable, kafka.NodeID(m.ReplicaID))
		}
	}
	return voters, reachable, nil
}

// verdictOf puts the controller's verdict into the form that the admin endpoint gives. One or two voters cannot spare any: as with
// partitions that have too few replicas, waiting would not help, so it forbids nothing.
func verdictOf(v metactl.StopVerdict, voters int) adminapi.Verdict {
	out := adminapi.Verdict{Safe: v.Safe, Total: v.BlockedCount, UnavoidableTotal: v.UnavoidableCount}
	quorum := adminapi.Block{
		Effect: adminapi.LosesQuorum, Partition: -1, Reason: "fewer voters than a majority would be left", Clears: "fewer voters stopping, or others coming back",
	}
	switch {
	case v.QuorumLost && voters < 3:
		quorum.Clears = "more voters"
		out.Safe = v.BlockedCount == 0
		out.UnavoidableTotal++
		out.Unavoidable = append(out.Unavoidable, quorum)
	case v.QuorumLost:
		out.Total++
		out.Blocks = append(out.Blocks, quorum)
	}
	for _, loss := range []metactl.StopLoss{metactl.LosesLeader, metactl.LosesAcks} { // the worst first
		for _, c := range v.Blocked {
			if c.Loses == loss && len(out.Blocks) < adminapi.MaxBlocks {
				out.Blocks = append(out.Blocks, blockOf(c))
			}
		}
	}
	for _, c := range v.Unavoidable {
		if len(out.Unavoidable) < adminapi.MaxBlocks {
			b := blockOf(c)
			b.Clears = "more replicas"
			out.Unavoidable = append(out.Unavoidable, b)
		}
	}
	return out
}

func blockOf(c metactl.StopConcern) adminapi.Block {
	b := adminapi.Block{Effect: adminapi.LosesAvailability, Topic: c.Topic, Partition: c.Partition, Reason: "no replica that may lead would be left"}
	if c.Loses == metactl.LosesAcks {
		b.Effect, b.Reason = adminapi.LosesAcks, "fewer in-sync replicas than min.insync.replicas would be left"
	}
	b.Clears = "fewer brokers stopping together"
	if len(c.CatchingUp) > 0 {
		var ids []string
		for _, n := range c.CatchingUp {
			ids = append(ids, strconv.Itoa(int(n)))
		}
		b.Clears = "catching up of broker " + strings.Join(ids, " or ")
	}
	return b
}
