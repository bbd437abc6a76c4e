package main

import (
	"context"
	"flag"
	"log"
	"os/signal"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

// Name is what storage classes call this program.
const Name = "kube.fairlead.io/folder"

const resync = 5 * time.Second

func main() {
	kubeconfig := flag.String("kubeconfig", "", "how to reach the API server")
	dir := flag.String("dir", "", "folder of the volumes")
	flag.Parse()
	config, err := clientcmd.BuildConfigFromFlags("", *kubeconfig)
	if err != nil {
		log.Fatalf("read %s: %v", *kubeconfig, err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	p := provisioner{client: client, dir: *dir}
	factory := informers.NewSharedInformerFactory(client, resync)
	claims, volumes := factory.Core().V1().PersistentVolumeClaims().Informer(), factory.Core().V1().PersistentVolumes().Informer()
	watch(claims, func(o any) {
		if claim, ok := o.(*corev1.PersistentVolumeClaim); ok {
			report("claim "+claim.Namespace+"/"+claim.Name, p.claim(ctx, claim))
		}
	})
	watch(volumes, func(o any) {
		if volume, ok := o.(*corev1.PersistentVolume); ok {
			report("volume "+volume.Name, p.volume(ctx, volume))
		}
	})
	factory.Start(ctx.Done())
	<-ctx.Done()
	factory.Shutdown()
}

func watch(informer cache.SharedIndexInformer, see func(any)) {
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: see, UpdateFunc: func(_, o any) { see(o) }})
	if err != nil {
		log.Fatal(err)
	}
}

func report(what string, err error) {
	if err != nil {
		log.Printf("%s: %v", what, err)
	}
}
