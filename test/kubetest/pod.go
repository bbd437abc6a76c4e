package kubetest

import (
	"fmt"
	"hash/fnv"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func podName(set *appsv1.StatefulSet, ordinal int) string {
	return set.Name + "-" + strconv.Itoa(ordinal)
}

// newPod is a pod of the set's present template.
func newPod(set *appsv1.StatefulSet, ordinal int) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: *set.Spec.Template.ObjectMeta.DeepCopy(), Spec: *set.Spec.Template.Spec.DeepCopy()}
	p.Namespace, p.Name = set.Namespace, podName(set, ordinal)
	p.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}
	p.Labels[appsv1.StatefulSetPodNameLabel], p.Labels[appsv1.PodIndexLabel] = p.Name, strconv.Itoa(ordinal)
	p.Labels[appsv1.ControllerRevisionHashLabelKey] = revision(set)
	p.Spec.Hostname, p.Spec.Subdomain = p.Name, set.Spec.ServiceName
	for _, c := range set.Spec.VolumeClaimTemplates {
		p.Spec.Volumes = append(p.Spec.Volumes, corev1.Volume{Name: c.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: c.Name + "-" + p.Name},
		}})
	}
	return p
}

// revision names the set's template.
func revision(set *appsv1.StatefulSet) string {
	h := fnv.New32a()
	b, err := set.Spec.Template.Marshal()
	if err != nil {
		panic(err)
	}
	_, _ = h.Write(b)
	return set.Name + "-" + strconv.FormatUint(uint64(h.Sum32()), 16)
}

// status is what a scheduler and a kubelet report.
func status(p *corev1.Pod, state State, ordinal int) corev1.PodStatus {
	container := p.Spec.Containers[0]
	s := corev1.PodStatus{Phase: corev1.PodPending, QOSClass: p.Status.QOSClass}
	condition := func(kind corev1.PodConditionType, is bool, reason, message string) {
		c := corev1.PodCondition{Type: kind, Status: corev1.ConditionFalse, Reason: reason, Message: message}
		if is {
			c.Status = corev1.ConditionTrue
		}
		s.Conditions = append(s.Conditions, c)
	}
	if p.Spec.NodeName == "" {
		condition(corev1.PodScheduled, false, corev1.PodReasonUnschedulable, state.Unschedulable)
		return s
	}
	condition(corev1.PodScheduled, true, "", "")
	condition(corev1.PodReady, state.Ready, "", "")
	c := corev1.ContainerStatus{Name: container.Name, Image: container.Image, Ready: state.Ready}
	if state.Waiting != "" {
		c.State.Waiting = &corev1.ContainerStateWaiting{Reason: state.Waiting, Message: "by the test's will"}
	} else {
		s.Phase = corev1.PodRunning
		c.State.Running = &corev1.ContainerStateRunning{StartedAt: p.CreationTimestamp}
		c.ImageID, c.ContainerID, c.Started = container.Image, "test://"+string(p.UID), &[]bool{true}[0]
	}
	s.ContainerStatuses = []corev1.ContainerStatus{c}
	s.PodIP = fmt.Sprintf("10.9.0.%d", ordinal+1)
	s.PodIPs, s.StartTime = []corev1.PodIP{{IP: s.PodIP}}, &p.CreationTimestamp
	return s
}
