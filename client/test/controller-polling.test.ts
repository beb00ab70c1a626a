import { afterEach, beforeEach, expect, jest, test } from '@jest/globals'
import { createGatehouse, createSignInController } from 'gatehouse-client'
import * as messages from 'gatehouse-client/messages'
import { ORIGIN, scriptBroker, WAITING } from 'gatehouse-test-support/scripted-broker'

beforeEach(() => void jest.useFakeTimers())
afterEach(() => void jest.useRealTimers())

test('dispose ends the polling of a push', async () => {
  const broker = scriptBroker()
  broker.answer({ body: WAITING })
  const gatehouse = createGatehouse({ baseUrl: ORIGIN, fetch: broker.fetch })
  const controller = createSignInController(gatehouse, { messages })
  await controller.signIn({ stateToken: 'an-example-handle' })
  await jest.advanceTimersByTimeAsync(5000)
  expect(broker.requests).toHaveLength(3)
  controller.dispose()
  await jest.advanceTimersByTimeAsync(60_000)
  expect(broker.requests).toHaveLength(3)
})
