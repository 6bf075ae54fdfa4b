package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"
)

const (
	exitKilled     = 137
	mostMessage    = 4096
	memoryInterval = 100 * time.Millisecond
)

// podRun is the life of a pod: its volumes as folders of this machine, its one container as a process under
// bubblewrap, its status as the API has it.
type podRun struct {
	agent  *nodeAgent
	pod    *core.Pod
	folder string
	ending chan struct{}
	once   sync.Once
	grace  time.Duration
}

func newPodRun(agent *nodeAgent, pod *core.Pod) *podRun {
	return &podRun{
		agent: agent, pod: pod, folder: filepath.Join(agent.folder, string(pod.UID)), ending: make(chan struct{}),
	}
}

// end asks for the pod's end, after so long by force.
func (run *podRun) end(grace time.Duration) {
	run.once.Do(func() {
		run.grace = grace
		close(run.ending)
	})
}

func (run *podRun) live(ctx context.Context) {
	state := run.contain(ctx)
	phase := core.PodFailed
	if state.ExitCode == 0 {
		phase = core.PodSucceeded
	}
	run.tell(ctx, phase, core.ContainerState{Terminated: &state})
	run.agent.mutex.Lock()
	delete(run.agent.pods, run.pod.UID)
	run.agent.ended[run.pod.UID] = true
	run.agent.mutex.Unlock()
	select {
	case <-run.ending:
		run.agent.forget(ctx, run.pod)
	default:
	}
}

// contain runs the container to its end.
func (run *podRun) contain(ctx context.Context) (ended core.ContainerStateTerminated) {
	container := run.pod.Spec.Containers[0]
	ended = core.ContainerStateTerminated{ExitCode: exitKilled, Reason: "Error", StartedAt: meta.Now()}
	defer func() { ended.FinishedAt = meta.Now() }()
	image, isKnown := run.agent.images[container.Image]
	if !isKnown {
		run.wait(ctx, "ErrImagePull", fmt.Sprintf("failed to pull and unpack image %q: not found", container.Image))
		<-run.ending
		return ended
	}
	if user := run.user(); user == 0 && run.isNonRoot() {
		run.wait(ctx, "CreateContainerConfigError", "container has runAsNonRoot and image will run as root")
		<-run.ending
		return ended
	}
	var binds []string
	for {
		var err error
		if binds, err = run.makeVolumes(ctx, container); err == nil {
			break
		}
		run.wait(ctx, "ContainerCreating", err.Error())
		select {
		case <-run.ending:
			return ended
		case <-time.After(time.Second):
		}
	}
	command, err := run.command(container, image, binds)
	if err != nil {
		ended.Reason, ended.Message, ended.ExitCode = "StartError", err.Error(), 128
		return ended
	}
	err = command.Start()
	_ = command.Stdout.(*os.File).Close()
	if err != nil {
		ended.Reason, ended.Message, ended.ExitCode = "StartError", err.Error(), 128
		return ended
	}
	_ = os.WriteFile(filepath.Join(run.folder, "pid"), []byte(strconv.Itoa(command.Process.Pid)), 0o644)
	started := meta.Now()
	run.tell(ctx, core.PodRunning, core.ContainerState{Running: &core.ContainerStateRunning{StartedAt: started}})
	ended.StartedAt = started
	ended.ExitCode, ended.Reason = run.await(command, container)
	if message, err := os.ReadFile(run.messageFile()); err == nil {
		ended.Message = string(message[:min(len(message), mostMessage)])
	}
	return ended
}

// await waits for the process's end, ends it when the pod is to end or needs more memory than it may, and says how
// it ended.
func (run *podRun) await(command *exec.Cmd, container core.Container) (int32, string) {
	done := make(chan error, 1)
	go func() { done <- command.Wait() }()
	limit := container.Resources.Limits.Memory().Value()
	kill := func(signal syscall.Signal) { _ = syscall.Kill(-command.Process.Pid, signal) }
	ticks := time.NewTicker(memoryInterval)
	defer ticks.Stop()
	ending := run.ending
	var force <-chan time.Time
	reason := "Error"
	for {
		select {
		case <-done:
			code := command.ProcessState.ExitCode()
			if code < 0 {
				code = exitKilled
			}
			if code == 0 {
				reason = "Completed"
			}
			return int32(code), reason
		case <-ending:
			ending = nil
			// As in a container, the first process alone is asked.
			signalTree(command.Process.Pid, syscall.SIGTERM)
			force = time.After(run.grace)
		case <-force:
			kill(syscall.SIGKILL)
		case <-ticks.C:
			if limit > 0 && residentBytes(command.Process.Pid) > limit {
				reason = "OOMKilled"
				kill(syscall.SIGKILL)
			}
		}
	}
}

// What of this machine is part of every image.
var systemFolders = []string{
	"/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin", "/etc/alternatives", "/etc/ld.so.cache", "/etc/ssl", "/etc/localtime",
	"/etc/hosts", "/etc/nsswitch.conf", "/sys",
}

// imageBinds mounts an image: the system's folders and, in /opt/evolve, what lies or is linked in its folder.
func imageBinds(image string) ([]string, error) {
	binds := []string{"--dir", "/tmp"}
	for _, folder := range systemFolders {
		binds = append(binds, "--ro-bind-try", folder, folder)
	}
	entries, err := os.ReadDir(image)
	if err != nil {
		return nil, err
	}
	for _, entry := range entries {
		target, err := filepath.EvalSymlinks(filepath.Join(image, entry.Name()))
		if err != nil {
			return nil, err
		}
		binds = append(binds, "--ro-bind", target, "/opt/evolve/"+entry.Name())
	}
	return binds, nil
}

// command is the container's process: its image and its volumes, and nothing else to write to.
func (run *podRun) command(container core.Container, image string, binds []string) (*exec.Cmd, error) {
	user := strconv.FormatInt(run.user(), 10)
	arguments := []string{
		"--die-with-parent", "--new-session", "--unshare-pid", "--unshare-ipc", "--unshare-user", "--uid", user,
		"--gid", user, "--clearenv",
	}
	root, err := imageBinds(image)
	if err != nil {
		return nil, err
	}
	arguments = append(arguments, root...)
	arguments = append(arguments, "--dev", "/dev", "--proc", "/proc", "--bind", run.messageFile(), container.TerminationMessagePath)
	arguments = append(arguments, binds...)
	isReadOnly := container.SecurityContext != nil && container.SecurityContext.ReadOnlyRootFilesystem != nil &&
		*container.SecurityContext.ReadOnlyRootFilesystem
	if isReadOnly {
		arguments = append(arguments, "--remount-ro", "/")
	}
	environment := map[string]string{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOSTNAME": run.pod.Name}
	mapping := expansion.MappingFuncFor(environment)
	for _, variable := range container.Env {
		value, err := run.value(variable)
		if err != nil {
			return nil, err
		}
		environment[variable.Name] = expansion.Expand(value, mapping)
	}
	for name, value := range environment {
		arguments = append(arguments, "--setenv", name, value)
	}
	if container.WorkingDir != "" {
		arguments = append(arguments, "--chdir", container.WorkingDir)
	} else {
		arguments = append(arguments, "--chdir", "/")
	}
	for _, word := range append(append([]string{}, container.Command...), container.Args...) {
		arguments = append(arguments, expansion.Expand(word, mapping))
	}
	log, err := os.Create(filepath.Join(run.folder, "log"))
	if err != nil {
		return nil, err
	}
	command := exec.Command("bwrap", arguments...)
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return command, nil
}

func (run *podRun) value(variable core.EnvVar) (string, error) {
	source := variable.ValueFrom
	switch {
	case source == nil:
		return variable.Value, nil
	case source.FieldRef != nil:
		fields := map[string]string{
			"metadata.name": run.pod.Name, "metadata.namespace": run.pod.Namespace,
			"metadata.uid": string(run.pod.UID), "spec.nodeName": run.pod.Spec.NodeName,
		}
		return fields[source.FieldRef.FieldPath], nil
	case source.ConfigMapKeyRef != nil:
		from := source.ConfigMapKeyRef
		found, err := run.agent.client.CoreV1().ConfigMaps(run.pod.Namespace).Get(
			context.Background(), from.Name, meta.GetOptions{})
		if err != nil {
			return "", err
		}
		return found.Data[from.Key], nil
	}
	return "", fmt.Errorf("variable %s: this source is not supported", variable.Name)
}

// makeVolumes makes the folders of the pod's volumes and returns bubblewrap's flags that mount them.
func (run *podRun) makeVolumes(ctx context.Context, container core.Container) ([]string, error) {
	if err := os.MkdirAll(run.folder, 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(run.messageFile(), nil, 0o666); err != nil {
		return nil, err
	}
	for _, volume := range run.pod.Spec.Volumes {
		folder := run.volumeFolder(volume.Name)
		if err := os.MkdirAll(folder, 0o777); err != nil {
			return nil, err
		}
		var maps []string
		if volume.ConfigMap != nil {
			maps = append(maps, volume.ConfigMap.Name)
		}
		if volume.Projected != nil {
			for _, source := range volume.Projected.Sources {
				if source.ConfigMap != nil {
					maps = append(maps, source.ConfigMap.Name)
				}
			}
		}
		for _, name := range maps {
			if err := run.writeConfigMap(ctx, volume, name, folder); err != nil {
				return nil, err
			}
		}
	}
	var binds []string
	for _, mount := range container.VolumeMounts {
		how := "--bind"
		if mount.ReadOnly {
			how = "--ro-bind"
		}
		binds = append(binds, how, filepath.Join(run.volumeFolder(mount.Name), mount.SubPath), mount.MountPath)
	}
	return binds, nil
}

func (run *podRun) writeConfigMap(ctx context.Context, volume core.Volume, name, folder string) error {
	found, err := run.agent.client.CoreV1().ConfigMaps(run.pod.Namespace).Get(ctx, name, meta.GetOptions{})
	if err != nil {
		return err
	}
	paths := map[string]string{}
	for key := range found.Data {
		paths[key] = key
	}
	if volume.Projected != nil {
		for _, source := range volume.Projected.Sources {
			if source.ConfigMap != nil && source.ConfigMap.Name == name && len(source.ConfigMap.Items) > 0 {
				paths = map[string]string{}
				for _, item := range source.ConfigMap.Items {
					paths[item.Key] = item.Path
				}
			}
		}
	}
	for key, path := range paths {
		if err := os.WriteFile(filepath.Join(folder, path), []byte(found.Data[key]), 0o644); err != nil {
			return err
		}
	}
	return nil
}

func (run *podRun) volumeFolder(name string) string {
	return filepath.Join(run.folder, "volumes", name)
}

func (run *podRun) messageFile() string { return filepath.Join(run.folder, "message") }

func (run *podRun) user() int64 {
	if context := run.pod.Spec.SecurityContext; context != nil && context.RunAsUser != nil {
		return *context.RunAsUser
	}
	own := run.pod.Spec.Containers[0].SecurityContext
	if own != nil && own.RunAsUser != nil {
		return *own.RunAsUser
	}
	return 0
}

func (run *podRun) isNonRoot() bool {
	context := run.pod.Spec.SecurityContext
	own := run.pod.Spec.Containers[0].SecurityContext
	return (context != nil && context.RunAsNonRoot != nil && *context.RunAsNonRoot) ||
		(own != nil && own.RunAsNonRoot != nil && *own.RunAsNonRoot)
}

func (run *podRun) wait(ctx context.Context, reason, message string) {
	run.tell(ctx, core.PodPending, core.ContainerState{
		Waiting: &core.ContainerStateWaiting{Reason: reason, Message: message},
	})
}

// tell writes the pod's status, until the API takes it or the pod is gone.
func (run *podRun) tell(ctx context.Context, phase core.PodPhase, state core.ContainerState) {
	isReady := core.ConditionFalse
	if phase == core.PodRunning {
		isReady = core.ConditionTrue
	}
	now := meta.Now()
	status := map[string]any{"status": map[string]any{
		"phase": phase, "startTime": run.pod.CreationTimestamp, "hostIP": "127.0.0.1", "podIP": "127.0.0.1",
		"conditions": []core.PodCondition{
			{Type: core.PodInitialized, Status: core.ConditionTrue, LastTransitionTime: now},
			{Type: core.PodReady, Status: isReady, LastTransitionTime: now},
			{Type: core.ContainersReady, Status: isReady, LastTransitionTime: now},
		},
		"containerStatuses": []core.ContainerStatus{{
			Name: run.pod.Spec.Containers[0].Name, Image: run.pod.Spec.Containers[0].Image, State: state,
			Ready: phase == core.PodRunning, ContainerID: "process://" + string(run.pod.UID),
		}},
	}}
	patch, _ := json.Marshal(status)
	run.agent.insist(ctx, func() error {
		found, err := run.agent.client.CoreV1().Pods(run.pod.Namespace).Get(ctx, run.pod.Name, meta.GetOptions{})
		if err == nil && found.UID == run.pod.UID {
			_, err = run.agent.client.CoreV1().Pods(run.pod.Namespace).Patch(
				ctx, run.pod.Name, types.StrategicMergePatchType, patch, meta.PatchOptions{}, "status")
		}
		return err
	})
}

// processesBelow lists the processes that `root` has started, itself among them.
func processesBelow(root int) []int {
	out := []int{root}
	for i := 0; i < len(out); i++ {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", out[i], out[i]))
		if err != nil {
			continue
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// signalTree signals the container's processes: bubblewrap itself does not pass a signal on.
func signalTree(root int, signal syscall.Signal) {
	for _, pid := range processesBelow(root)[1:] {
		_ = syscall.Kill(pid, signal)
	}
}

func residentBytes(root int) int64 {
	var pages int64
	for _, pid := range processesBelow(root) {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
		if err != nil {
			continue
		}
		if fields := strings.Fields(string(text)); len(fields) > 1 {
			count, _ := strconv.ParseInt(fields[1], 10, 64)
			pages += count
		}
	}
	return pages * int64(os.Getpagesize())
}

// serveLogs serves what containers printed, as a kubelet does for the API server; it returns the port.
func (agent *nodeAgent) serveLogs(certificate, key string) (int32, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/containerLogs/", func(writer http.ResponseWriter, request *http.Request) {
		parts := strings.Split(strings.TrimPrefix(request.URL.Path, "/containerLogs/"), "/")
		agent.mutex.Lock()
		defer agent.mutex.Unlock()
		if len(parts) == 3 {
			pod, err := agent.client.CoreV1().Pods(parts[0]).Get(request.Context(), parts[1], meta.GetOptions{})
			if err == nil {
				text, _ := os.ReadFile(filepath.Join(agent.folder, string(pod.UID), "log"))
				_, _ = writer.Write(text)
				return
			}
		}
		http.NotFound(writer, request)
	})
	go func() { _ = http.ServeTLS(listener, mux, certificate, key) }()
	return int32(listener.Addr().(*net.TCPAddr).Port), nil
}
