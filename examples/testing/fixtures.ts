import { test as base } from '@playwright/test'
import { type SandboxWithBroker, startSandbox } from 'gatehouse/sandbox'

const portal = process.env.PORTAL_URL ?? 'http://localhost:5173'

export const test = base.extend<{ broker: string }, { sandbox: SandboxWithBroker }>({
  baseURL: portal,
  sandbox: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the names of the fixtures from it
    async ({}, use) => {
      const sandbox = await startSandbox({
        people: [
          {
            login: 'ada@example.test',
            password: 'Demo-Password-1',
            factors: ['totp', 'push'],
            groups: ['Auditors'],
          },
        ],
        groups: { Auditors: ['end_user'] },
        broker: { publicUrl: portal },
      })
      await use(sandbox)
      await sandbox.stop()
    },
    { scope: 'worker' },
  ],
  broker: [
    async ({ context, sandbox }, use) => {
      await context.route(`${portal}/api/**`, async (route, request) => {
        const url = request.url().replace(portal, sandbox.brokerUrl)
        await route.fulfill({ response: await route.fetch({ url }) })
      })
      await use(sandbox.brokerUrl)
      await context.unrouteAll({ behavior: 'ignoreErrors' })
      await sandbox.control.reset()
    },
    { auto: true },
  ],
})
