package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	coordination "k8s.io/api/coordination/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

const (
	heartbeatSeconds = 2
	leaseSeconds     = 40
)

// nodeAgent stands in for the kubelets of some nodes: it registers them, and runs the containers of the pods that
// are bound to them as processes of this machine (container.go).
type nodeAgent struct {
	client  kubernetes.Interface
	folder  string            // of the pods' files
	images  map[string]string // folders that stand in for images, by the images' names
	logPort int32

	mutex sync.Mutex
	nodes map[string]*core.Node
	pods  map[types.UID]*podRun
	ended map[types.UID]bool // whose containers have run: a pod's older state may be seen after that
}

func newNodeAgentCommand() *cobra.Command {
	var kubeconfig, folder, certificate, key string
	var nodes, images []string
	command := &cobra.Command{
		Use:   "node-agent",
		Short: "registers nodes, and runs their pods' containers as sandboxed processes of this machine",
		RunE: func(command *cobra.Command, _ []string) error {
			config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
			if err != nil {
				return err
			}
			config.QPS, config.Burst = 1000, 2000
			client, err := kubernetes.NewForConfig(config)
			if err != nil {
				return err
			}
			agent := &nodeAgent{
				client: client, folder: folder, images: map[string]string{},
				nodes: map[string]*core.Node{}, pods: map[types.UID]*podRun{}, ended: map[types.UID]bool{},
			}
			for _, image := range images {
				name, path, _ := strings.Cut(image, "=")
				agent.images[name] = path
			}
			if agent.logPort, err = agent.serveLogs(certificate, key); err != nil {
				return err
			}
			for _, text := range nodes {
				node, err := parseNode(text, agent.logPort)
				if err != nil {
					return err
				}
				agent.nodes[node.Name] = node
			}
			return agent.run(command.Context())
		},
	}
	flags := command.Flags()
	flags.StringVar(&kubeconfig, "kubeconfig", "", "of who may do all")
	flags.StringVar(&folder, "folder", "", "for the pods' files")
	flags.StringVar(&certificate, "tls-cert-file", "", "for the logs' server")
	flags.StringVar(&key, "tls-private-key-file", "", "of that certificate")
	flags.StringArrayVar(&nodes, "node", nil, "NAME[,RESOURCE=COUNT…][,LABEL/…=VALUE…]: a node")
	flags.StringArrayVar(&images, "image", nil, "NAME=FOLDER: what lies there as /opt/evolve in containers of that image")
	return command
}

// parseNode reads "tpu-0,google.com/tpu=4,cloud.google.com/gke-tpu-topology=2x2x1": what is a number is a
// resource, anything else a label.
func parseNode(text string, logPort int32) (*core.Node, error) {
	name, rest, _ := strings.Cut(text, ",")
	node := &core.Node{ObjectMeta: meta.ObjectMeta{
		Name: name, Labels: map[string]string{"kubernetes.io/hostname": name},
	}}
	capacity := core.ResourceList{
		core.ResourceCPU: resource.MustParse("64"), core.ResourceMemory: resource.MustParse("256Gi"),
		core.ResourcePods: resource.MustParse("5000"), core.ResourceEphemeralStorage: resource.MustParse("100Gi"),
	}
	for _, pair := range strings.Split(rest, ",") {
		name, value, found := strings.Cut(pair, "=")
		if !found {
			continue
		}
		if amount, err := resource.ParseQuantity(value); err == nil {
			capacity[core.ResourceName(name)] = amount
		} else {
			node.Labels[name] = value
		}
	}
	node.Status = core.NodeStatus{
		Capacity: capacity, Allocatable: capacity,
		Addresses:       []core.NodeAddress{{Type: core.NodeInternalIP, Address: "127.0.0.1"}},
		DaemonEndpoints: core.NodeDaemonEndpoints{KubeletEndpoint: core.DaemonEndpoint{Port: logPort}},
		NodeInfo:        core.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.34.4"},
	}
	return node, nil
}

func (agent *nodeAgent) run(ctx context.Context) error {
	for _, node := range agent.nodes {
		if err := agent.register(ctx, node); err != nil {
			return fmt.Errorf("register node %s: %w", node.Name, err)
		}
		go agent.beat(ctx, node.Name)
	}
	factory := informers.NewSharedInformerFactory(agent.client, 30*time.Second)
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { agent.seePod(ctx, object) },
		UpdateFunc: func(_, object any) { agent.seePod(ctx, object) },
		DeleteFunc: func(object any) { agent.losePod(object) },
	})
	if err != nil {
		return err
	}
	factory.Start(ctx.Done())
	<-ctx.Done()
	return nil
}

func (agent *nodeAgent) register(ctx context.Context, node *core.Node) error {
	status := node.Status
	for {
		_, err := agent.client.CoreV1().Nodes().Create(ctx, node, meta.CreateOptions{})
		if err == nil || errors.IsAlreadyExists(err) {
			break
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond): // the server may be on its way up
		}
	}
	node.Status = status
	return agent.tellReady(ctx, node.Name)
}

// tellReady writes the node's whole status where the cluster does not have it as ready: the scheduler binds nothing to
// a node without it, and a node that could not renew its lease for a while was taken for lost.
func (agent *nodeAgent) tellReady(ctx context.Context, name string) error {
	now := meta.Now()
	node, err := agent.client.CoreV1().Nodes().Get(ctx, name, meta.GetOptions{})
	if err != nil {
		return err
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == core.NodeReady && condition.Status == core.ConditionTrue {
			return nil
		}
	}
	node.Status = agent.nodes[name].Status
	node.Status.Conditions = []core.NodeCondition{{
		Type: core.NodeReady, Status: core.ConditionTrue, Reason: "KubeletReady", LastHeartbeatTime: now,
		LastTransitionTime: now,
	}}
	_, err = agent.client.CoreV1().Nodes().UpdateStatus(ctx, node, meta.UpdateOptions{})
	return err
}

// beat renews the node's lease and its status, as a kubelet does: a node that stops is lost after a while.
func (agent *nodeAgent) beat(ctx context.Context, name string) {
	leases := agent.client.CoordinationV1().Leases(core.NamespaceNodeLease)
	seconds := int32(leaseSeconds)
	for ctx.Err() == nil {
		now := meta.NowMicro()
		lease, err := leases.Get(ctx, name, meta.GetOptions{})
		if errors.IsNotFound(err) {
			lease = &coordination.Lease{ObjectMeta: meta.ObjectMeta{Name: name}}
			lease.Spec = coordination.LeaseSpec{HolderIdentity: &name, LeaseDurationSeconds: &seconds, RenewTime: &now}
			_, _ = leases.Create(ctx, lease, meta.CreateOptions{})
		} else if err == nil {
			lease.Spec.RenewTime = &now
			_, _ = leases.Update(ctx, lease, meta.UpdateOptions{})
		}
		_ = agent.tellReady(ctx, name)
		select {
		case <-ctx.Done():
		case <-time.After(heartbeatSeconds * time.Second):
		}
	}
}

func (agent *nodeAgent) seePod(ctx context.Context, object any) {
	pod := object.(*core.Pod)
	agent.mutex.Lock()
	defer agent.mutex.Unlock()
	if agent.nodes[pod.Spec.NodeName] == nil {
		return
	}
	run := agent.pods[pod.UID]
	isOver := agent.ended[pod.UID] || pod.Status.Phase == core.PodSucceeded || pod.Status.Phase == core.PodFailed
	if run == nil && isOver {
		if pod.DeletionTimestamp != nil {
			go agent.forget(ctx, pod)
		}
		return
	}
	if run == nil {
		run = newPodRun(agent, pod.DeepCopy())
		agent.pods[pod.UID] = run
		go run.live(ctx)
	}
	if pod.DeletionTimestamp != nil {
		grace := int64(30)
		if pod.DeletionGracePeriodSeconds != nil {
			grace = *pod.DeletionGracePeriodSeconds
		}
		run.end(time.Duration(grace) * time.Second)
	}
}

// losePod ends the processes of a pod that was taken away by force.
func (agent *nodeAgent) losePod(object any) {
	if unknown, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = unknown.Obj
	}
	pod, ok := object.(*core.Pod)
	if !ok {
		return
	}
	agent.mutex.Lock()
	defer agent.mutex.Unlock()
	if run := agent.pods[pod.UID]; run != nil {
		run.end(0)
		delete(agent.pods, pod.UID)
	}
}

// forget removes the object of a pod that was to be deleted, whose processes are gone.
func (agent *nodeAgent) forget(ctx context.Context, pod *core.Pod) {
	now := int64(0)
	agent.insist(ctx, func() error {
		err := agent.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, meta.DeleteOptions{
			GracePeriodSeconds: &now, Preconditions: &meta.Preconditions{UID: &pod.UID},
		})
		if errors.IsConflict(err) { // another has its name
			return nil
		}
		return err
	})
}

// insist calls the API until it answers yes, or no for good: the pod is gone, or has ended.
func (agent *nodeAgent) insist(ctx context.Context, call func() error) {
	for ctx.Err() == nil {
		err := call()
		if err == nil || errors.IsNotFound(err) || errors.IsInvalid(err) {
			return
		}
		time.Sleep(200 * time.Millisecond)
	}
}
