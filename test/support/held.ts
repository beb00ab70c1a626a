/** Something that is waited for until a test lets go of it. */
export interface Held {
  readonly gone: Promise<void>
  letGo(): void
}

export function held(): Held {
  let letGo = () => {}
  const gone = new Promise<void>((resolve) => {
    letGo = resolve
  })
  return { gone, letGo }
}
