package cluster

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/controllers/conditions"
	"github.com/fairlead-io/fairlead/controllers/desired"
)

// founding decides once who founds the metadata quorum, and records it before anything is made that could do it. The record alone says who
// the cluster is, so if volumes of an earlier Cluster of this name were kept, theirs is taken over: their data are this Cluster's again.
func founding(t *turn) {
	if q := t.status.Quorum; q != nil {
		t.makeObjects = true
		if !q.Formed && t.sawQuorum() {
			q.Formed = true // the brokers' files follow the record, with the next plan
			t.within(Soon)
		}
		t.markFormed()
		return
	}
	if left := earlierLeft(t.s); left != "" {
		t.find(conditions.Progressing, conditions.Applying, left)
		t.within(Busy)
		return
	}
	kept, found, same := keptQuorum(t.s)
	switch {
	case !same:
		t.find(conditions.Progressing, conditions.ApplyFailed, "the volumes that are there are of different clusters: delete the claims of those that are not wanted")
		return
	case !found:
		kept = newQuorum(t.want.Replicas, t.s.Fresh)
	}
	t.want.Quorum = kept
	if t.checkConfig() != nil {
		return // the founders' settings become the cluster's: they are to be right
	}
	if found {
		t.do(normal("TakingOver", "volumes of an earlier Cluster of this name were kept: it is cluster %s again", kept.ClusterID))
	} else {
		founders := t.want
		founders.Settings = t.userSettings()
		kept.MinInSyncReplicas = strings.TrimSpace(founders.BrokerSettings()[desired.MinISR])
	}
	t.status.Quorum = kept.DeepCopy()
	t.within(Soon)
}

// markFormed has the claims say what the record says, since they may be kept longer than the record.
func (t *turn) markFormed() {
	if recorded := t.c.Status.Quorum; !recorded.Formed {
		return
	}
	for i := range t.s.Claims {
		claim := &t.s.Claims[i]
		if q, ok := desired.ClaimQuorum(claim); ok && q.ClusterID == t.status.Quorum.ClusterID && !q.Formed && claim.DeletionTimestamp == nil {
			t.do(MarkFormed{claim.Name, claim.UID})
		}
	}
}

// newQuorum has an odd number of founders, of which a majority is there while one broker, or two of five, are not.
func newQuorum(brokers int32, ids Identities) v1alpha1.Quorum {
	n := int32(1)
	switch {
	case brokers >= 5:
		n = MaxVoters
	case brokers >= 3:
		n = 3
	}
	q := v1alpha1.Quorum{ClusterID: ids.ClusterID, Brokers: brokers}
	for id := range n {
		q.Voters = append(q.Voters, v1alpha1.Voter{ID: id, DirectoryID: ids.DirectoryIDs[id]})
	}
	return q
}

// sawQuorum tells whether a broker of this cluster follows a leader of the quorum.
func (t *turn) sawQuorum() bool {
	for _, b := range t.brokers {
		if r, known := b.said.Get(); known && r.ClusterID == t.status.Quorum.ClusterID && (r.Ready || r.IsQuorumLeader || r.BrokerEpoch > 0) {
			return true
		}
	}
	return false
}

// earlierLeft is what is there of an earlier Cluster of this name and is going: with its StatefulSet its volumes may go, so they are not
// yet known to be kept.
func earlierLeft(s Snapshot) string {
	set := s.Objects.StatefulSet
	if set != nil && !metav1.IsControlledBy(set, s.Cluster) {
		return "StatefulSet " + set.Name + " of somebody else is there, perhaps of an earlier Cluster of this name: it is waited for until it is gone"
	}
	for i := range s.Claims {
		claim := &s.Claims[i]
		if _, ours := desired.ClaimBroker(s.Cluster.Name, claim.Name); !ours {
			continue
		}
		going := claim.DeletionTimestamp != nil
		for _, r := range claim.OwnerReferences {
			going = going || set == nil || r.UID != set.UID
		}
		if going {
			return "claim " + claim.Name + " goes with an earlier Cluster of this name: it is waited for until it is gone"
		}
	}
	return ""
}

// keptQuorum is the quorum whose data is on the volumes that are there already. They may be of different ones.
func keptQuorum(s Snapshot) (kept v1alpha1.Quorum, found, same bool) {
	for i := range s.Claims {
		if _, ours := desired.ClaimBroker(s.Cluster.Name, s.Claims[i].Name); !ours {
			continue
		}
		q, ok := desired.ClaimQuorum(&s.Claims[i])
		if !ok {
			continue
		}
		if found && q.ClusterID != kept.ClusterID {
			return kept, true, false
		}
		q.Formed = q.Formed || kept.Formed
		kept, found = q, true
	}
	return kept, found, true
}
