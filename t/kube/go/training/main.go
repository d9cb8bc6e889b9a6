// The controllers of TFJobs, PyTorchJobs and MPIJobs of Kubeflow's training operator, without its admission
// webhooks: those want certificates and a service inside the cluster.
//
// usage: training-operator --kubeconfig=FILE --namespace=NAME --health-probe-bind-address=HOST:PORT [--gang-scheduler-name=volcano]
package main

import (
	"flag"
	"log"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	"github.com/kubeflow/training-operator/pkg/config"
	"github.com/kubeflow/training-operator/pkg/controller.v1/common"
	"github.com/kubeflow/training-operator/pkg/controller.v1/mpi"
	"github.com/kubeflow/training-operator/pkg/controller.v1/pytorch"
	"github.com/kubeflow/training-operator/pkg/controller.v1/tensorflow"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metrics "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	volcano "volcano.sh/apis/pkg/apis/scheduling/v1beta1"
	clientset "volcano.sh/apis/pkg/client/clientset/versioned"
)

type controller interface {
	SetupWithManager(manager ctrl.Manager, threads int) error
}

func check(err error) {
	if err != nil {
		log.Fatalln("training-operator:", err)
	}
}

func main() {
	probes := flag.String("health-probe-bind-address", ":8081", "where /healthz is answered")
	namespace := flag.String("namespace", "", "the one whose jobs are run")
	gangs := flag.String("gang-scheduler-name", "", "volcano: whose groups are made for jobs")
	flag.Parse()
	ctrl.SetLogger(zap.New())

	scheme := runtime.NewScheme()
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(kubeflow.AddToScheme(scheme))
	utilruntime.Must(volcano.AddToScheme(scheme)) // it watches groups where the cluster has them
	config.Config.PyTorchInitContainerImage = config.PyTorchInitContainerImageDefault
	config.Config.PyTorchInitContainerMaxTries = config.PyTorchInitContainerMaxTriesDefault
	config.Config.MPIKubectlDeliveryImage = config.MPIKubectlDeliveryImageDefault

	manager, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Scheme:                 scheme,
		Cache:                  cache.Options{DefaultNamespaces: map[string]cache.Config{*namespace: {}}},
		Metrics:                metrics.Options{BindAddress: "0"},
		HealthProbeBindAddress: *probes,
	})
	check(err)
	check(manager.AddHealthzCheck("healthz", healthz.Ping))
	setup := common.GenNonGangSchedulerSetupFunc()
	if *gangs != "" {
		setup = common.GenVolcanoSetupFunc(clientset.NewForConfigOrDie(manager.GetConfig()))
	}
	for _, one := range []controller{
		tensorflow.NewReconciler(manager, setup),
		pytorch.NewReconciler(manager, setup),
		mpi.NewReconciler(manager, setup),
	} {
		check(one.SetupWithManager(manager, 1))
	}
	check(manager.Start(ctrl.SetupSignalHandler()))
}
