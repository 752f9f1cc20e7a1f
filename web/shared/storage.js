/*
 * Storage of the browser that may be forbidden or full: then values live as long as the page.
 */

/**
 * @param {() => Storage} open gives localStorage or sessionStorage, or throws
 * @returns {{get(key: string): any, set(key: string, value: any): void, remove(key: string): void}}
 *   values are anything JSON can say; get() gives null for what is not there or is no JSON
 */
export function createStorage(open) {
  const memory = new Map();
  let storage = null;

  try {
    storage = open();
  } catch {
    /* forbidden: memory will do */
  }
  return {
    get(key) {
      try {
        const text = memory.get(key) ?? storage?.getItem(key) ?? null;
        return text === null ? null : JSON.parse(text);
      } catch {
        return null;
      }
    },
    set(key, value) {
      const text = JSON.stringify(value);
      try {
        storage.setItem(key, text);
        memory.delete(key);
      } catch {
        memory.set(key, text);
      }
    },
    remove(key) {
      memory.delete(key);
      try {
        storage?.removeItem(key);
      } catch {
        /* it was only in memory */
      }
    },
  };
}

/** Kept for the browser, and shared by its tabs. */
export const local = createStorage(() => globalThis.localStorage);
/** Kept for this tab, also over a reload. */
export const session = createStorage(() => globalThis.sessionStorage);

/** Plain strings that boot.js reads too, without JSON. */
export const plain = {
  get(key) {
    try {
      return localStorage.getItem(key);
    } catch {
      return null;
    }
  },
  set(key, value) {
    try {
      localStorage.setItem(key, value);
    } catch {
      /* chosen for this page only */
    }
  },
};
