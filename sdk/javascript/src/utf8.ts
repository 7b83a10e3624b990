/** UTF-8, for an engine that has no `TextEncoder` and `TextDecoder`. */

export class Utf8Encoder {
  readonly encoding = "utf-8";
  encode(text = ""): Uint8Array {
    const bytes: number[] = [];
    for (const letter of String(text)) {
      let code = letter.codePointAt(0) ?? 0;
      // Half a pair.
      if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
      if (code < 0x80) bytes.push(code);
      else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
      else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
      else bytes.push(0xf0 | (code >> 18), 0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
    }
    return Uint8Array.from(bytes);
  }
}

export class Utf8Decoder {
  readonly encoding = "utf-8";
  readonly #fatal: boolean;
  constructor(label = "utf-8", options: { fatal?: boolean } = {}) {
    if (!/^utf-?8$/i.test(label)) throw new RangeError(`only UTF-8 is decoded, not ${label}`);
    this.#fatal = options.fatal ?? false;
  }
  decode(input: ArrayBuffer | Uint8Array = new Uint8Array()): string {
    const bytes = input instanceof Uint8Array ? input : new Uint8Array(input);
    const parts: string[] = [];
    let at = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
    while (at < bytes.length) {
      const [code, length] = letter(bytes, at);
      if (code === null && this.#fatal) throw new TypeError("not UTF-8");
      parts.push(String.fromCodePoint(code ?? 0xfffd));
      at += length;
    }
    return parts.join("");
  }
}

/** The smallest code point of each length. */
const SMALLEST = [0, 0x80, 0x800, 0x10000];

/** The code point at `at` and its length; `null` for bytes that are none, and how many of them are one mistake. */
function letter(bytes: Uint8Array, at: number): [number | null, number] {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return [first, 1];
  const more = first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
  if (more === 0) return [null, 1];
  let code = first & (0x3f >> more);
  for (let step = 1; step <= more; step++) {
    const next = bytes[at + step] ?? 0;
    if ((next & 0xc0) !== 0x80) return [null, step];
    code = (code << 6) | (next & 63);
    // A second byte that no letter has ends the mistake before it.
    const least = code << (6 * (more - step));
    if (step === 1 && (least + 63 * (more > 1 ? 65 : 1) < (SMALLEST[more] ?? 0) || (least >= 0xd800 && least <= 0xdfff) || least > 0x10ffff)) return [null, 1];
  }
  return [code, more + 1];
}
