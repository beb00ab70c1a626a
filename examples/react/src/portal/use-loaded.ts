import { useCallback, useEffect, useState } from 'react'
import { type Message, messageOf } from '../messages.ts'

/**
 * What one part of the portal shows. Its error appears in its place, and the other parts stay
 * usable.
 */
export interface Loaded<Content> {
  readonly content?: Content
  readonly message?: Message
}

/**
 * @param load the same function at each call. @returns what it has loaded, and a function that
 * loads again
 */
export function useLoaded<Content>(load: () => Promise<Content>): [Loaded<Content>, () => Promise<void>] {
  const [loaded, setLoaded] = useState<Loaded<Content>>({})
  const reload = useCallback(async () => {
    try {
      setLoaded({ content: await load() })
    } catch (error) {
      setLoaded({ message: messageOf(error) })
    }
  }, [load])
  useEffect(() => void reload(), [reload])
  return [loaded, reload]
}
