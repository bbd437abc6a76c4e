package desired

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// What others do to the live object, and whether it must be applied again.
func TestC50OnlyWhatIsOursIsPutBack(t *testing.T) {
	for _, r := range []struct {
		what     string
		change   func(live *appsv1.StatefulSet)
		asWanted bool
	}{
		{"nothing", func(*appsv1.StatefulSet) {}, true},
		{"defaults of the API server", func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyAlways
			s.Spec.Template.Spec.DNSPolicy = corev1.DNSClusterFirst
			s.Spec.Template.Spec.Containers[0].TerminationMessagePath = "/dev/termination-log"
			s.Spec.VolumeClaimTemplates[0].Status.Phase = corev1.ClaimPending
		}, true},
		{"no kind, as typed clients read", func(s *appsv1.StatefulSet) { s.Kind, s.APIVersion = "", "" }, true},
		{"a status", func(s *appsv1.StatefulSet) { s.Status.ReadyReplicas = 2 }, true},
		{"an annotation and a label of others", func(s *appsv1.StatefulSet) {
			s.Annotations["kubectl.kubernetes.io/restartedAt"] = "now"
			s.Spec.Template.Labels["sidecar"] = "yes"
		}, true},
		{"a container before ours", func(s *appsv1.StatefulSet) {
			s.Spec.Template.Spec.Containers = append([]corev1.Container{{Name: "proxy"}}, s.Spec.Template.Spec.Containers...)
		}, true},
		{"a variable in our container", func(s *appsv1.StatefulSet) {
			c := &s.Spec.Template.Spec.Containers[0]
			c.Env = append(c.Env, corev1.EnvVar{Name: "X", Value: "1"})
		}, true},
		{"a quantity in other digits", func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = *resource.NewQuantity(1<<40, resource.DecimalSI)
		}, true},
		{"another quantity", func(s *appsv1.StatefulSet) {
			s.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = resource.MustParse("2Ti")
		}, false},
		{"another number of replicas", func(s *appsv1.StatefulSet) { *s.Spec.Replicas = 2 }, false},
		{"another image", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "x" }, false},
		{"fewer arguments", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Args = []string{"pod"} }, false},
		{"a label of ours gone", func(s *appsv1.StatefulSet) { delete(s.Labels, "app.kubernetes.io/instance") }, false},
		{"no owner", func(s *appsv1.StatefulSet) { s.OwnerReferences = nil }, false},
		{"no probe", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].LivenessProbe = nil }, false},
		{"our annotation gone", func(s *appsv1.StatefulSet) { delete(s.Annotations, SpecHashAnnotation) }, false},
	} {
		live := full().StatefulSet()
		r.change(live)
		if got := AsWanted(live, full().StatefulSet()); got != r.asWanted {
			t.Errorf("%s: as wanted: %v, want %v", r.what, got, r.asWanted)
		}
	}
}

// What is no longer wanted is still in the live object: only the hash tells.
func TestWhatIsTakenOutIsApplied(t *testing.T) {
	c := full()
	c.Spec.PodTemplate.NodeSelector = nil
	if AsWanted(full().StatefulSet(), c.StatefulSet()) {
		t.Error("the live object with one thing more counts as wanted")
	}
}
