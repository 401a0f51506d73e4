// Small PDFs, made as they are needed: one font, one text block a page.
const escaped = (line: string): string => line.replaceAll(/[\\()]/g, "\\$&");

const ascii = (line: string): string => {
  if (/[^\x20-\x7e]/.test(line)) throw new Error(`only ASCII here: ${line}`);
  return escaped(line);
};

/** A PDF of these pages, each some lines. `trailer`: more entries of the trailer, as `/Encrypt …`. */
export function makePdf(pages: readonly (readonly string[])[], trailer = ""): Uint8Array<ArrayBuffer> {
  const kids = pages.map((_, i) => `${4 + 2 * i} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ...pages.flatMap((lines, i) => {
      const stream = `BT /F1 12 Tf 14 TL 50 750 Td ${lines.map((line) => `(${ascii(line)}) Tj T*`).join(" ")} ET`;
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * i} 0 R >>`,
        `<< /Length ${stream.length} >>\nstream\n${stream}\nendstream`,
      ];
    }),
  ];
  let text = "%PDF-1.4\n";
  const places = objects.map((object, i) => {
    const place = text.length;
    text += `${i + 1} 0 obj\n${object}\nendobj\n`;
    return place;
  });
  const xref = text.length;
  const rows = places.map((place) => `${String(place).padStart(10, "0")} 00000 n \n`).join("");
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`;
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${xref}\n%%EOF\n`;
  return new Uint8Array(Buffer.from(text, "latin1"));
}

/** It asks for a password: its key check matches none. */
export const encryptedPdf = (): Uint8Array<ArrayBuffer> =>
  makePdf(
    [["secret"]],
    `/ID [<${"00".repeat(16)}> <${"00".repeat(16)}>] /Encrypt << /Filter /Standard /V 1 /R 2 /O <${"11".repeat(32)}> /U <${"22".repeat(32)}> /P -4 >>`,
  );
