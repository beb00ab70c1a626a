import { createSandbox } from './sandbox.ts'
import { defaultConfigPath, loadSandboxConfig, type SandboxConfig } from './sandbox-config.ts'
import { usersTable } from './users-table.ts'

const DEFAULT_AUTHN_PORT = 8081
const DEFAULT_PAM_PORT = 8082

/** Runs the sandbox alone until it is told to stop. */
async function main(env: NodeJS.ProcessEnv): Promise<void> {
  const config = loadSandboxConfig(env.SANDBOX_CONFIG || defaultConfigPath)
  const sandbox = createSandbox({ config: withPamLinks(config, env.SANDBOX_PAM_LINK_ORIGIN) })
  const addresses = await sandbox.listen({
    authnPort: portFrom(env.SANDBOX_AUTHN_PORT, DEFAULT_AUTHN_PORT),
    pamPort: portFrom(env.SANDBOX_PAM_PORT, DEFAULT_PAM_PORT),
    host: env.SANDBOX_HOST || '127.0.0.1',
  })
  process.stdout.write(`
Sign-in API  ${addresses.authnUrl}   API token: ${sandbox.apiToken}
PAM API      ${addresses.pamUrl}
Codes, mails and pushes: ${addresses.authnUrl}/sandbox/users and /sandbox/outbox (docs/sandbox.md)

${usersTable(config.users)}

`)
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => void addresses.close())
}

/** Behind a proxy that speaks TLS, the links to further pages must name the proxy. The PAM API checks the value itself. */
function withPamLinks(config: SandboxConfig, linkOrigin: string | undefined): SandboxConfig {
  return linkOrigin ? { ...config, pam: { ...Object(config.pam), linkOrigin } } : config
}

function portFrom(value: string | undefined, byDefault: number): number {
  const port = value ? Number(value) : byDefault
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`a port is a number from 0 to 65535`)
  return port
}

try {
  await main(process.env)
} catch (error) {
  process.stderr.write(`The sandbox did not start: ${error instanceof Error ? error.message : 'unknown'}\n`)
  process.exitCode = 1
}
