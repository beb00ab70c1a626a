import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildStages } from './build-stages.mjs'
import { readDockerfile, readDockerignore } from './read-dockerfile.mjs'

const DOCKERFILE = 'deploy/compose/sandbox.Dockerfile'

/** Builds the sandbox's image as check-image.mjs builds the broker's, starts it with a broker, signs in, and stops it. */
export async function checkSandboxImage({ read, project, work, node, runOptions, children, check }) {
  const into = join(work, 'sandbox')
  mkdirSync(into)
  const image = buildStages({
    stages: readDockerfile(read(DOCKERFILE)),
    project,
    isIncluded: readDockerignore(read(`${DOCKERFILE}.dockerignore`)),
    into,
    path: `${node.folder}${delimiter}${process.env.PATH}`,
  })
  const [, ...args] = [...image.entrypoint, '--broker', '--port', '0', '--json']
  const child = spawn(join(node.folder, 'node'), args, runOptions(image, {}))
  children.add(child)
  const exited = once(child, 'exit')
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), exited])
  const { brokerUrl } = JSON.parse(String(line))
  const response = await fetch(`${brokerUrl}/api/v1/authn`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Origin: brokerUrl },
    body: JSON.stringify({ username: 'amelia.stone', password: 'Demo-Password-1' }),
  })
  check(
    "the sandbox's image starts with a broker, and a user signs in",
    (await response.json()).status === 'SUCCESS',
  )
  child.kill('SIGTERM')
  check('the sandbox: SIGTERM exits with 0', (await exited)[0] === 0)
}
