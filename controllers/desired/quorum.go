package desired

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// quorumText is the founding as a claim has it: CLUSTER_ID BROKERS VOTER@DIRECTORY,... MIN_ISR. It never changes, as the template of claims cannot.
func quorumText(q v1alpha1.Quorum) string {
	var voters []string
	for _, v := range q.Voters {
		voters = append(voters, strconv.Itoa(int(v.ID))+"@"+v.DirectoryID)
	}
	return q.ClusterID + " " + strconv.Itoa(int(q.Brokers)) + " " + strings.Join(voters, ",") + " " + q.MinInSyncReplicas
}

// ClaimQuorum is the quorum whose data is on a claim's volume. Without the mark that it was formed nobody knows whether there is any data: then
// the same founding goes on, by which a directory that has its identity is left as it is.
func ClaimQuorum(claim *corev1.PersistentVolumeClaim) (v1alpha1.Quorum, bool) {
	words := strings.Split(claim.Annotations[QuorumAnnotation], " ")
	if len(words) != 4 || words[0] == "" || words[3] == "" {
		return v1alpha1.Quorum{}, false
	}
	brokers, err := strconv.ParseInt(words[1], 10, 32)
	if err != nil {
		return v1alpha1.Quorum{}, false
	}
	q := v1alpha1.Quorum{ClusterID: words[0], Brokers: int32(brokers), MinInSyncReplicas: words[3], Formed: claim.Annotations[FormedAnnotation] == FormedMark}
	for _, text := range strings.Split(words[2], ",") {
		voter, directory, ok := strings.Cut(text, "@")
		id, err := strconv.ParseInt(voter, 10, 32)
		if err != nil || !ok || directory == "" {
			return v1alpha1.Quorum{}, false
		}
		q.Voters = append(q.Voters, v1alpha1.Voter{ID: int32(id), DirectoryID: directory})
	}
	return q, true
}

// FormedMark is the value of [FormedAnnotation].
const FormedMark = "true"
