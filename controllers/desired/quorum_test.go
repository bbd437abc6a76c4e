package desired

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAClaimKnowsItsQuorum(t *testing.T) {
	claim := full().StatefulSet().Spec.VolumeClaimTemplates[0]
	q, ok := ClaimQuorum(&claim)
	if !ok || q.ClusterID != full().Quorum.ClusterID || q.Brokers != 3 || q.MinInSyncReplicas != "2" || len(q.Voters) != 3 || q.Voters[2].ID != 2 || q.Formed || q.Voters[1] != full().Quorum.Voters[1] {
		t.Errorf("%+v %v", q, ok)
	}
	claim.Annotations[FormedAnnotation] = FormedMark
	if q, ok := ClaimQuorum(&claim); !ok || !q.Formed {
		t.Errorf("marked: %+v %v", q, ok)
	}
	for _, bad := range []string{"", "a", "a 3", "a x 0@d 1", "a 3 0@d,x@d 1", " 3 0@d 1", "a 3 0@d 1 b", "a 3 0@d", "a 3 0@d ", "a 3 0 1", "a 3 0@ 1"} {
		c := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{QuorumAnnotation: bad}}}
		if q, ok := ClaimQuorum(c); ok {
			t.Errorf("%q: %+v", bad, q)
		}
	}
}
