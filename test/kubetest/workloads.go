package kubetest

import (
	"context"
	"slices"
	"strconv"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Workloads stands in for the controller of StatefulSets, the scheduler, the volume controller and kubelets: sets get claims and pods at once
// and in parallel, of the set's present template; pods get a node and an address and are what the test says; deleted pods go.
type Workloads struct {
	client client.Client
	pods   Pods
	look   chan event.TypedGenericEvent[*appsv1.StatefulSet]
}

// Pods is the test's part.
type Pods interface {
	// State is how a pod's container is. It is asked at each look.
	State(*corev1.Pod) State
	// Ended is called when a pod's processes have ended, before the pod goes.
	Ended(*corev1.Pod)
}

// State is how a pod's only container is.
type State struct {
	// Waiting is why it does not run, as a kubelet says it: ImagePullBackOff. Unschedulable is why the pod has no node.
	Waiting, Unschedulable string
	Ready                  bool
}

// Nodes are the nodes that pods are spread over. Each is a zone of its own, with the name "zone-" and the node's.
var Nodes = []string{"n1", "n2", "n3"}

// StartWorkloads looks after all StatefulSets until the test ends.
func StartWorkloads(t testing.TB, cfg *rest.Config, pods Pods) *Workloads {
	t.Helper()
	w := &Workloads{client: Client(t, cfg), pods: pods, look: make(chan event.TypedGenericEvent[*appsv1.StatefulSet])}
	for _, name := range Nodes {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelTopologyZone: "zone-" + name}}}
		if err := w.client.Create(t.Context(), n); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	yes := true
	m, err := manager.New(cfg, manager.Options{Scheme: w.client.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		t.Fatal(err)
	}
	err = builder.ControllerManagedBy(m).Named("workloads").
		For(&appsv1.StatefulSet{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(setOf)).
		Watches(&corev1.PersistentVolumeClaim{}, handler.EnqueueRequestsFromMapFunc(setOf)).
		WatchesRawSource(source.Channel(w.look, &handler.TypedEnqueueRequestForObject[*appsv1.StatefulSet]{})).
		WithOptions(controller.Options{SkipNameValidation: &yes}).
		Complete(reconcile.Func(w.reconcile))
	if err != nil {
		t.Fatal(err)
	}
	Run(t, m)
	return w
}

// Run runs a manager until the test ends, or until stop is called, which waits for the end.
func Run(t testing.TB, m manager.Manager) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("manager: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// Look has the pods of a set looked at again, since the test changed how they are.
func (w *Workloads) Look(namespace, set string) {
	s := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set}}
	w.look <- event.TypedGenericEvent[*appsv1.StatefulSet]{Object: s}
}

// setLabel is on the pods and claims of a set: its name.
const setLabel = "app.kubernetes.io/instance"

func setOf(_ context.Context, o client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: o.GetNamespace(), Name: o.GetLabels()[setLabel]}}}
}

func (w *Workloads) reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	set := &appsv1.StatefulSet{}
	if err := w.client.Get(ctx, req.NamespacedName, set); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	err := w.one(ctx, set)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: 1}, nil // somebody else was faster: look again
	}
	return reconcile.Result{}, err
}

func (w *Workloads) one(ctx context.Context, set *appsv1.StatefulSet) error {
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil {
		return err
	}
	var pods corev1.PodList
	if err := w.client.List(ctx, &pods, client.InNamespace(set.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return err
	}
	if set.DeletionTimestamp != nil {
		return w.orphan(ctx, set, pods.Items)
	}
	for ordinal := range int(*set.Spec.Replicas) {
		if err := w.claims(ctx, set, ordinal); err != nil {
			return err
		}
		if !slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return p.Name == podName(set, ordinal) }) {
			if err := w.client.Create(ctx, newPod(set, ordinal)); err != nil {
				return err
			}
		}
	}
	ready := int32(0)
	for i := range pods.Items {
		r, err := w.pod(ctx, set, &pods.Items[i])
		if err != nil {
			return err
		}
		if r {
			ready++
		}
	}
	before := set.DeepCopy()
	set.Status.ObservedGeneration, set.Status.UpdateRevision = set.Generation, revision(set)
	set.Status.Replicas, set.Status.ReadyReplicas, set.Status.AvailableReplicas = int32(len(pods.Items)), ready, ready
	if equality.Semantic.DeepEqual(before.Status, set.Status) {
		return nil
	}
	return w.client.Status().Update(ctx, set)
}

// orphan lets the pods of a set go free, and then the set.
func (w *Workloads) orphan(ctx context.Context, set *appsv1.StatefulSet, pods []corev1.Pod) error {
	if !slices.Contains(set.Finalizers, metav1.FinalizerOrphanDependents) {
		return nil
	}
	for _, p := range pods {
		p.OwnerReferences = slices.DeleteFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.UID == set.UID })
		if err := w.client.Update(ctx, &p); err != nil {
			return err
		}
	}
	set.Finalizers = slices.DeleteFunc(set.Finalizers, func(f string) bool { return f == metav1.FinalizerOrphanDependents })
	return w.client.Update(ctx, set)
}

// pod moves one pod on and tells whether it is ready.
func (w *Workloads) pod(ctx context.Context, set *appsv1.StatefulSet, p *corev1.Pod) (bool, error) {
	ordinal, _ := strconv.Atoi(p.Labels["apps.kubernetes.io/pod-index"])
	switch {
	case p.DeletionTimestamp != nil:
		w.pods.Ended(p)
		return false, w.client.Delete(ctx, p, client.GracePeriodSeconds(0), client.Preconditions{UID: &p.UID})
	case metav1.GetControllerOf(p) == nil:
		p.OwnerReferences = append(p.OwnerReferences, *metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet")))
		return false, w.client.Update(ctx, p)
	case ordinal >= int(*set.Spec.Replicas):
		return false, w.client.Delete(ctx, p, client.Preconditions{UID: &p.UID})
	}
	state := w.pods.State(p)
	if p.Spec.NodeName == "" && state.Unschedulable == "" {
		node := Nodes[ordinal%len(Nodes)]
		return false, w.client.SubResource("binding").Create(ctx, p, &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}})
	}
	before := p.DeepCopy()
	p.Status = status(p, state, ordinal)
	if !equality.Semantic.DeepEqual(before.Status, p.Status) {
		return state.Ready, w.client.Status().Update(ctx, p)
	}
	return state.Ready, nil
}

// claims makes the claims of a pod, binds them, and grows volumes as is wanted of them.
func (w *Workloads) claims(ctx context.Context, set *appsv1.StatefulSet, ordinal int) error {
	for _, template := range set.Spec.VolumeClaimTemplates {
		claim := &corev1.PersistentVolumeClaim{}
		key := client.ObjectKey{Namespace: set.Namespace, Name: template.Name + "-" + podName(set, ordinal)}
		err := w.client.Get(ctx, key, claim)
		if apierrors.IsNotFound(err) {
			claim = template.DeepCopy()
			claim.Namespace, claim.Name = key.Namespace, key.Name
			claim.Spec.VolumeName = "pv-" + key.Namespace + "-" + key.Name
			if claim.Labels == nil {
				claim.Labels = map[string]string{}
			}
			for k, v := range set.Spec.Selector.MatchLabels {
				claim.Labels[k] = v
			}
			err = w.client.Create(ctx, claim)
		}
		if err != nil {
			return err
		}
		want := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		if have := claim.Status.Capacity[corev1.ResourceStorage]; claim.Status.Phase != corev1.ClaimBound || have.Cmp(want) < 0 {
			claim.Status.Phase, claim.Status.AccessModes = corev1.ClaimBound, claim.Spec.AccessModes
			claim.Status.Capacity = corev1.ResourceList{corev1.ResourceStorage: want}
			if err := w.client.Status().Update(ctx, claim); err != nil {
				return err
			}
		}
	}
	return nil
}
