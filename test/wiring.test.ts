import { expect, test } from '@jest/globals'
import { startGatehouse } from './support/gatehouse.ts'

test('the clock option also reaches the PAM module', async () => {
  const gatehouse = await startGatehouse({
    env: {
      AUTHN_BASE_URL: 'http://127.0.0.1:1',
      PAM_BASE_URL: 'https://pam.example.net',
      PAM_TEAM: 'example-team',
      PAM_KEY_ID: 'plainly-fake-key',
      PAM_KEY_SECRET: 'plainly-fake-secret',
      PAM_KEY_EXPIRES_AT: '2040-01-08T00:00:00Z',
    },
    now: () => Date.parse('2040-01-01T00:00:00Z'),
  })
  try {
    gatehouse.watchUpstreams()
    expect(gatehouse.logLines()).toContainEqual(
      expect.objectContaining({
        time: '2040-01-01T00:00:00.000Z',
        event: 'pam_key_expires_soon',
        count: 7,
      }),
    )
  } finally {
    await gatehouse.stop()
  }
})
