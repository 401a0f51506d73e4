// Text to a width, broken at spaces and otherwise left as it is; a word that is longer keeps its length, so that paths and places can be copied.
export function wrap(text: string, columns: number): string[] {
  return text.split("\n").flatMap((paragraph) => {
    const lines: string[] = [];
    let line: string | null = null;
    for (const word of paragraph.split(" ")) {
      // A line of spaces alone is an indent: it isn't left behind.
      const longer: string = line === null ? word : `${line} ${word}`;
      if (line !== null && line.trim() !== "" && length(longer) > columns) {
        lines.push(line);
        line = word;
      } else line = longer;
    }
    return [...lines, line ?? ""];
  });
}

const length = (text: string): number => [...text].length;
