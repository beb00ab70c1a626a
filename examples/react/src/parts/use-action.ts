import { useEffect, useState } from 'react'
import { fillText } from '../language/fill.ts'
import { durationOf, texts } from '../language/language.ts'
import { run, say } from '../page.ts'

/**
 * An action of a button: it runs once at a time, and after a refusal not before the time to wait is
 * over.
 */
export function useAction() {
  const [isRunning, setIsRunning] = useState(false)
  const [left, wait] = useCountdown()
  const isOff = isRunning || left > 0
  return {
    /**
     * `aria-disabled`, not `disabled`: a disabled button loses the focus, and keyboard users their
     * position.
     */
    isOff,
    /** The button's label, with the time to wait. */
    labelOf: (label: string) =>
      left > 0 ? fillText(texts.labelWithWait, { label, time: durationOf(left) }) : label,
    /** Another user need not wait. */
    stopWaiting: () => wait(0),
    async start(action: () => Promise<void>, form?: HTMLFormElement) {
      if (isOff) return
      setIsRunning(true)
      wait(await run(action, form))
      setIsRunning(false)
    },
  }
}

/** @returns the seconds left, and a function that starts the countdown */
function useCountdown(): [left: number, start: (seconds: number) => void] {
  const [endsAt, setEndsAt] = useState(0)
  const [left, setLeft] = useState(0)
  useEffect(() => {
    if (endsAt === 0) return setLeft(0)
    const timer = setInterval(() => {
      const seconds = Math.ceil((endsAt - Date.now()) / 1000)
      setLeft(Math.max(seconds, 0))
      if (seconds > 0) return
      clearInterval(timer)
      say(null)
    }, 500)
    return () => clearInterval(timer)
  }, [endsAt])
  return [
    left,
    (seconds) => {
      setLeft(seconds)
      setEndsAt(seconds > 0 ? Date.now() + seconds * 1000 : 0)
    },
  ]
}
