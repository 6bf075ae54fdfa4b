// Program kubernetes is a small cluster in one binary, linked once: the control plane's programs and kubectl as
// they are, and a node agent of our own. Which of them it is, its first argument says.
package main

import (
	"fmt"
	"os"
	"sort"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	"k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() {
	programs := map[string]func() *cobra.Command{
		"kube-apiserver":          apiserver.NewAPIServerCommand,
		"kube-controller-manager": controllers.NewControllerManagerCommand,
		"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
		"kubectl":                 cmd.NewDefaultKubectlCommand,
		"node-agent":              newNodeAgentCommand,
	}
	if len(os.Args) < 2 || programs[os.Args[1]] == nil {
		names := make([]string, 0, len(programs))
		for name := range programs {
			names = append(names, name)
		}
		sort.Strings(names)
		fmt.Fprintf(os.Stderr, "usage: kubernetes %s [FLAG…]\n", strings.Join(names, "|"))
		os.Exit(2)
	}
	// kubectl reads the program's own arguments, besides those that it is given.
	os.Args = append([]string{os.Args[1]}, os.Args[2:]...)
	command := programs[os.Args[0]]()
	command.SetArgs(os.Args[1:])
	os.Exit(cli.Run(command))
}
