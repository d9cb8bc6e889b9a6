# Builds the image of a job in a pod. Needs a shell, coreutils, tar, and buildah; no rights beyond those that every container has: storage is
# plain directories (vfs), and pip runs in a chroot of the image.
#
# BASE, TARGET: references; TLS: is the registry's checked; WORK, BY_NAME: where the package goes, under PACKAGE_NAME in the latter.
# /build/in appears when what goes in was delivered.
set -eu
cd /build
tries=0
until [ -d in ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 3000 ] || { echo "what goes into the image did not come within 10 minutes"; exit 1; }
        sleep 0.2
done

export REGISTRY_AUTH_FILE=/build/in/auth.json BUILDAH_ISOLATION=chroot TMPDIR=/build _CONTAINERS_USERNS_CONFIGURED=done
b() { buildah --storage-driver vfs --root /build/storage --runroot /build/run "$@"; }
# The registry's own way for its host alone; others are checked.
case $BASE in "${REGISTRY%%/*}"/*) base_tls=$TLS ;; *) base_tls=true ;; esac

echo "FROM $BASE"
container=$(b from --quiet --tls-verify="$base_tls" "$BASE")
root=$(b mount "$container")

if [ -d in/work ]; then
        echo "COPY the package to $WORK"
        mkdir -p "$root$WORK" "$root$BY_NAME"
        cp -a in/work/. "$root$WORK/"
        chmod -R a+rwX "$root$WORK"
        if [ -n "$PACKAGE_NAME" ]; then ln -sfn "../${WORK##*/}" "$root$BY_NAME/$PACKAGE_NAME"; fi
        b config --workingdir "$WORK" "$container"
fi

# What a program expects to find, for the time of the build.
made= modules=
borrow() { # file of the image, file of this pod
        if [ -e "$root$1" ] || [ -L "$root$1" ]; then mv "$root$1" "$root$1.paddle"; fi
        mkdir -p "$(dirname "$root$1")"
        cp -L "$2" "$root$1"
        made="$made $1"
}
device() {
        if [ ! -e "$root/dev/$1" ]; then mkdir -p "$root/dev"; mknod -m 666 "$root/dev/$1" c 1 "$2"; made="$made /dev/$1"; fi
}
give_back() {
        for lent in $made; do
                rm -f "$root$lent"
                if [ -e "$root$lent.paddle" ] || [ -L "$root$lent.paddle" ]; then mv "$root$lent.paddle" "$root$lent"; fi
        done
        rm -rf "$root/paddle/.build"
        made= modules=
}

path=$(b inspect --format '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' "$container" | sed -n 's/^PATH=//p')
within() { # command of the image
        env -i PATH="${path:-/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin}" HOME=/root LANG=C.UTF-8 TMPDIR=/paddle/.build \
                PIP_CONFIG_FILE=/paddle/.build/pip.conf PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore \
                PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_INPUT=1 ${modules:+PYTHONPATH="$modules"} /usr/sbin/chroot "$root" "$@"
}

lend() {
        mkdir -p "$root/paddle/.build"
        cp in/pip.conf "$root/paddle/.build/"
        borrow /etc/resolv.conf /etc/resolv.conf
        borrow /etc/hosts /etc/hosts
        device null 3; device zero 5; device random 8; device urandom 9
}

if [ -e in/requirements.txt ]; then
        echo "RUN pip install -r requirements.txt"
        lend
        cp in/requirements.txt "$root/paddle/.build/"
        python=
        for name in python3 python; do
                if within "$name" -c pass >/dev/null 2>&1; then python=$name; break; fi
        done
        [ -n "$python" ] || { echo "the base image has no Python, so its requirements cannot be installed"; exit 1; }
        if ! within "$python" -m pip --version >/dev/null 2>&1; then # the builder's own
                cp /usr/share/python-wheels/pip-*.whl "$root/paddle/.build/pip.whl" ||
                        { echo "neither the base image nor the builder's has pip"; exit 1; }
                modules=/paddle/.build/pip.whl
        fi
        within "$python" -m pip install --no-cache-dir --progress-bar off -r /paddle/.build/requirements.txt || exit 1
        give_back
fi

# Its last line is read by environment.c.
if [ -e in/setup ]; then
        setup=$(cat in/setup)
        printf '== setup: %s\n' "$setup"
        lend
        mkdir -p "$root$WORK"
        status=0
        within /bin/sh -e -c 'cd "$0" && exec sh -e -c "$1"' "$WORK" "$setup" </dev/null || status=$?
        give_back
        if [ "$status" -ne 0 ]; then
                printf '\n== setup ended: %s %s\n' "$status" "$(printf %s "$setup" | head -n 1)"
                exit 1
        fi
        chmod -R a+rwX "$root$WORK"
fi

echo "PUSH $TARGET"
b commit --quiet --tls-verify="$TLS" "$container" "docker://$TARGET" >/dev/null
echo "The image is ready."
