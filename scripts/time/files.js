// Files written and read by the event loop itself, then by libuv's threads. Argument: how many of each.

const fs = require('fs');
const count = Number(process.argv[2]);

function text(number) {
    return Array.from({ length: 3000 }, (_, value) => `${number} ${value * value}\n`).join('');
}

async function work(number) {
    await fs.promises.writeFile(`async${number}`, text(number));
    const found = await fs.promises.readFile(`async${number}`, 'utf8');
    await fs.promises.rename(`async${number}`, `done${number}`);
    return found.length;
}

async function main() {
    for (let number = 0; number < count; number++) {
        fs.writeFileSync(`sync${number}`, text(number));
        fs.appendFileSync('log', `${fs.readFileSync(`sync${number}`).length}\n`);
    }
    for (let number = 0; number < count; number += 8)
        await Promise.all(Array.from({ length: 8 }, (_, more) => work(number + more)));
}

main();
