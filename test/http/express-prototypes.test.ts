import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import { expect, test } from '@jest/globals'
import express from 'express'
import { expressPrototypes } from '../../src/http/express-prototypes.ts'
import { createListener } from '../../src/http/listener.ts'
import { askPort, PATIENCE } from './serve.ts'

test('a request and its response have the prototypes of the app before the app gets them', async () => {
  const app = express()
  app.get('/here', (req, res) => {
    res.json({ path: req.path, known: [req instanceof IncomingMessage, res instanceof ServerResponse] })
  })
  const had: boolean[] = []
  const inside = app as unknown as { handle: RequestListener } // the first function of Express
  const handle = inside.handle.bind(app)
  inside.handle = (req, res) => {
    had.push(Object.getPrototypeOf(req) === app.request, Object.getPrototypeOf(res) === app.response)
    handle(req, res)
  }
  const listener = createListener(app, PATIENCE)
  const answer = await askPort(await listener.listen(0, '127.0.0.1'), { path: '/here?one=1' })
  await listener.drain(0)
  expect(answer).toMatchObject({ status: 200, json: { path: '/here', known: [true, true] } })
  expect(had).toEqual([true, true])
})

test('a listener that is not an Express application is not changed', () => {
  const plain: RequestListener = (_req, res) => res.end()
  expect(expressPrototypes(plain)).toBeUndefined()
})
