package desired

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// quorumText is the founding as a claim has it: CLUSTER_ID BROKERS VOTER,VOTER,... It never changes, as the template of claims cannot.
func quorumText(q v1alpha1.Quorum) string {
	var ids []string
	for _, v := range q.Voters {
		ids = append(ids, strconv.Itoa(int(v.ID)))
	}
	return q.ClusterID + " " + strconv.Itoa(int(q.Brokers)) + " " + strings.Join(ids, ",")
}

// ClaimQuorum is the quorum whose data is on a claim's volume. It is taken for formed: no directory of it is ever founded again.
func ClaimQuorum(claim *corev1.PersistentVolumeClaim) (v1alpha1.Quorum, bool) {
	words := strings.Split(claim.Annotations[QuorumAnnotation], " ")
	if len(words) != 3 || words[0] == "" {
		return v1alpha1.Quorum{}, false
	}
	brokers, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return v1alpha1.Quorum{}, false
	}
	q := v1alpha1.Quorum{ClusterID: words[0], Brokers: int32(brokers), Formed: true}
	for _, text := range strings.Split(words[2], ",") {
		id, err := strconv.ParseInt(text, 10, 32)
		if err != nil {
			return v1alpha1.Quorum{}, false
		}
		q.Voters = append(q.Voters, v1alpha1.Voter{ID: int32(id)})
	}
	return q, true
}
