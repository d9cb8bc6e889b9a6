# Builds a Python environment in its directory $1 (environment.h). $2 interpreter; $3 uv or empty: pip; $4 "--no-index" or empty;
# $5 requirements file or empty; $6 setup command or empty; $7 name of the package that the setup runs in a copy of, or empty;
# $8 keep.py; $9, ${10} and ${11} its limits. Lines that begin with "== " are read by environment.c.
set -eu
cd "$1"
python=$2 uv=$3 index=$4 requirements=$5 setup=$6 package=$7 keep=$8 files=$9 bytes=${10} depth=${11}
exec 9>lock
flock -n 9 || { echo 'Another builder has this environment: waiting for it.'; flock 9; }
if [ -e ready ]; then
        rm -rf package.*
        echo 'Ready already.'
        exit 0
fi
echo "== building $(date -u +%Y-%m-%dT%H:%M:%SZ)"
rm -rf venv work made

with() {
        "$@" install --no-input --disable-pip-version-check --progress-bar off $index -r "$requirements" 9>&-
}

# pip 22.3 and later install into environments other than their own. To give each environment a pip takes longer than most installations.
pip_installs_elsewhere() {
        "$python" -c 'import pip, sys; sys.exit([int(part) for part in pip.__version__.split(".")[:2]] < [22, 3])' 2>/dev/null
}

# As pip does and uv does not. Jobs may not write into their environment: without this, each of their processes compiles all that it
# imports, which for `import paddle` takes four seconds. Modules of tests are left out, and what is in another Python's syntax fails alone.
compile_modules() {
        echo 'Compiling the Python modules'
        workers=$(nproc)
        if [ "$workers" -gt 8 ]; then workers=8; fi
        venv/bin/python -I -m compileall -qq -j "$workers" -x '/tests?/' venv/lib 9>&- || true
}

install() {
        if [ -n "$uv" ]; then
                "$uv" venv --quiet --python "$python" venv 9>&-
                "$uv" pip install --python venv/bin/python $index -r "$requirements" 9>&-
                compile_modules
        elif pip_installs_elsewhere; then
                "$python" -m venv --without-pip venv 9>&-
                with "$python" -m pip --python venv/bin/python
        else
                "$python" -m venv venv 9>&-
                with venv/bin/python -m pip
        fi
}

# For a setup alone: it sees the packages of the machine, as its job would without a setup.
make_empty() {
        if [ -n "$uv" ]; then
                "$uv" venv --quiet --system-site-packages --python "$python" venv 9>&-
        else
                "$python" -m venv --system-site-packages --without-pip venv 9>&-
        fi
}

# To add pip takes seconds: only where the command, or a script of the package, speaks of it.
speaks_of_pip() {
        case $setup in *pip*) return 0 ;; esac
        [ -n "$package" ] && grep -rqswI --exclude='*.md' --exclude='*.rst' --exclude='*.txt' pip "$package"
}

# That of ensurepip, else of the index, else of the machine.
add_pip() {
        if [ -e venv/bin/pip ]; then return 0; fi
        venv/bin/python -m ensurepip --default-pip >/dev/null 2>&1 9>&- || [ -z "$uv" ] ||
                "$uv" pip install --quiet --python venv/bin/python $index pip 9>&- || true
        if [ -e venv/bin/pip ]; then return 0; fi
        printf '#!/bin/sh\nexec "%s/python" -m pip "$@"\n' "$PWD/venv/bin" >venv/bin/pip
        chmod 755 venv/bin/pip
}

clear_setup() {
        rm -rf "$package" work made 2>/dev/null || true
}

set_up() {
        if speaks_of_pip; then add_pip; fi
        mkdir work
        if [ -n "$package" ]; then cp -a "$package/." work/; fi
        printf '== setup: %s\n' "$setup"
        status=0
        (
                export VIRTUAL_ENV="$PWD/venv" PATH="$PWD/venv/bin:$PATH" PYTHONUNBUFFERED=1 MAKEFLAGS=--no-print-directory
                cd work
                exec sh -e -c "$setup" </dev/null 9>&-
        ) || status=$?
        if [ "$status" -ne 0 ]; then
                clear_setup
                printf '\n== setup ended: %s %s\n' "$status" "$(printf %s "$setup" | head -n 1)"
                exit 1
        fi
        "$python" -I -S -c "$keep" "$package" work made "$files" "$bytes" "$depth" 9>&- || { clear_setup; exit 1; }
        rm -rf package.*
}

if [ -n "$requirements" ]; then install; else make_empty; fi
if [ -n "$setup" ]; then set_up; fi
sync -f venv
: >ready.new
mv ready.new ready
sync -f ready
echo 'The environment is ready.'
