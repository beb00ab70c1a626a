import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, statSync } from 'node:fs'
import { basename, join, posix } from 'node:path'

/**
 * Executes the stages, each in its own folder under `into` instead of a container, and returns the last image:
 * `{ root, workdir, env, user, ports, health, command, stopSignal }`.
 *
 * @param isIncluded whether a path of `project` may be copied (.dockerignore)
 * @param path the PATH of RUN, with the image's node
 */
export function buildStages({ stages, project, isIncluded, into, path }) {
  const built = new Map()
  let image
  for (const [at, stage] of stages.entries()) {
    image = { root: join(into, `stage-${at}`), workdir: '/', args: {}, env: {}, ports: [] }
    mkdirSync(image.root)
    for (const { word, rest } of stage.steps) {
      const step = STEPS[word]
      step({ image, rest, built, project, isIncluded, path })
    }
    built.set(stage.name ?? String(at), image)
  }
  return image
}

const STEPS = {
  WORKDIR({ image, rest }) {
    image.workdir = posix.resolve(image.workdir, rest)
    mkdirSync(inside(image, '.'), { recursive: true })
  },
  /** Its default value: no build argument is passed. */
  ARG({ image, rest }) {
    const [, name, value] = assignment('ARG', rest)
    image.args[name] = value
  },
  ENV({ image, rest }) {
    const [, name, value] = assignment('ENV', rest)
    image.env[name] = value.startsWith('$') ? image.args[value.slice(1)] : value
  },
  COPY({ image, rest, built, project, isIncluded }) {
    const words = rest.split(/\s+/)
    const from = words[0].startsWith('--from=') ? words.shift().slice('--from='.length) : undefined
    if (words.some((word) => word.startsWith('--'))) throw new Error(`Dockerfile: cannot read COPY ${rest}`)
    const to = words.pop()
    for (const source of words) {
      if (from === undefined) copyFromProject(project, source, inside(image, target(source, to)), isIncluded)
      else copyFromStage(built, from, source, inside(image, to))
    }
  },
  RUN({ image, rest, path }) {
    const { NODE_ENV: _, NODE_OPTIONS: __, ...ours } = process.env
    const { status, stdout, stderr } = spawnSync('sh', ['-c', rest], {
      cwd: inside(image, '.'),
      env: { ...ours, ...image.env, PATH: path },
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`Dockerfile: RUN ${rest} failed:\n${stdout}${stderr}`)
  },
  USER({ image, rest }) {
    image.user = rest
  },
  EXPOSE({ image, rest }) {
    image.ports.push(...rest.split(/\s+/))
  },
  STOPSIGNAL({ image, rest }) {
    image.stopSignal = rest
  },
  ENTRYPOINT({ image, rest }) {
    image.entrypoint = JSON.parse(rest)
  },
  CMD({ image, rest }) {
    image.command = JSON.parse(rest)
  },
  HEALTHCHECK({ image, rest }) {
    const found = /^(?:--\S+\s+)*CMD\s+(\[.*\])$/.exec(rest)
    if (found === null) throw new Error('Dockerfile: HEALTHCHECK is not an array')
    image.health = JSON.parse(found[1])
  },
}

function assignment(word, rest) {
  const found = /^(\w+)=(\S+)$/.exec(rest)
  if (found === null) throw new Error(`Dockerfile: cannot read ${word} ${rest}`)
  return found
}

/** The host path of a path in the image. */
function inside(image, path) {
  return join(image.root, posix.resolve(image.workdir, path))
}

/** As in COPY: a file keeps its name in a target folder; of a folder, the content is copied. */
function target(source, to) {
  return to.endsWith('/') ? posix.join(to, basename(source)) : to
}

function copyFromProject(project, source, to, isIncluded) {
  const start = join(project, source)
  if (!existsSync(start) || !isIncluded(source))
    throw new Error(`Dockerfile: COPY ${source}: not found, or excluded by .dockerignore`)
  cpSync(start, to, {
    recursive: true,
    filter: (path) => isIncluded(posix.join(source, path.slice(start.length))),
  })
}

function copyFromStage(built, from, source, to) {
  const stage = built.get(from)
  if (stage === undefined) throw new Error(`Dockerfile: COPY --from=${from}: unknown stage`)
  const start = join(stage.root, source)
  if (!statSync(start).isDirectory())
    throw new Error(`Dockerfile: COPY --from=${from}: ${source} is not a folder`)
  cpSync(start, to, { recursive: true, verbatimSymlinks: true })
}
